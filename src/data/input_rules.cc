#include "data/input_rules.h"
#include "bitsweep/names.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bitsweep/error.h"
#include "sweep/metrics/sums.h"

namespace bitsweep::data {
namespace {

std::string numpy_type(DataType type) {
  if (type == DataType::kBfloat16) return "ml_dtypes.bfloat16";
  return type == DataType::kBool ? "np.bool_" : "np." + std::string(data_type_name(type));
}

std::string input_text(const ValueInfo& input) {
  return "input \"" + input.name + "\" wants " + std::string(data_type_name(input.type)) + " " +
         declared_shape_text(input);
}

[[noreturn]] void fail_shape(const ValueInfo& input, const Shape& shape, const std::string& array,
                             const std::string& fix) {
  throw Error(ErrorCode::kInvalidData, "data",
              array + " has shape " + shape_text(shape) + ", but " + input_text(input), fix);
}

// Fixed dimensions of the input from `from_input` on against those of the array from `from_array`
// on.
void check_dimensions(const ValueInfo& input, std::size_t from_input, const Shape& shape,
                      std::size_t from_array, const std::string& array) {
  for (std::size_t i = from_input, j = from_array; i < input.shape.size(); ++i, ++j) {
    const std::int64_t declared = input.shape[i].size;
    if (declared >= 0 && declared != shape[j]) {
      fail_shape(input, shape, array,
                 "make dimension " + std::to_string(j) + " " + std::to_string(declared) +
                     " instead of " + std::to_string(shape[j]));
    }
  }
}

void check_type(const ValueInfo& input, DataType type, std::size_t item_bytes,
                const std::string& type_text, const std::string& array) {
  if (input.type == DataType::kUndefined || input.type == DataType::kString) {
    throw Error(ErrorCode::kInvalidData, "data",
                "input \"" + input.name + "\" of the model is " +
                    (input.type == DataType::kString ? "text" : "no tensor") +
                    ", which files of arrays cannot hold",
                "feed the model from Python");
  }
  if (type == input.type) return;
  // Types that numpy does not know are saved as raw bytes of the same width.
  const bool raw = type == DataType::kUndefined && item_bytes > 0 &&
                   item_bytes == data_type_size(input.type) &&
                   (input.type == DataType::kBfloat16 || input.type >= DataType::kFloat8E4M3FN);
  if (raw) return;
  throw Error(ErrorCode::kInvalidData, "data",
              array + " holds " + type_text + ", but " + input_text(input),
              "convert it with array.astype(" + numpy_type(input.type) + ")");
}

}  // namespace

std::string declared_shape_text(const ValueInfo& input) {
  if (!input.has_shape) return "of any shape";
  std::string text = "[";
  for (std::size_t i = 0; i < input.shape.size(); ++i) {
    const Dimension& dimension = input.shape[i];
    if (i > 0) text += ',';
    text += dimension.size >= 0      ? std::to_string(dimension.size)
            : dimension.name.empty() ? "?"
                                     : dimension.name;
  }
  return text + "]";
}

ArrayPlan plan_array(const ValueInfo& input, const NpyHeader& header, const std::string& array,
                     std::int64_t batch_size) {
  check_type(input, header.type, header.item_bytes, header.type_text(), array);
  ArrayPlan plan;
  plan.type = input.type;
  const Shape& shape = header.shape;
  const std::size_t rank = input.has_shape ? input.shape.size() : shape.size();
  if (shape.empty()) {
    if (rank != 0) fail_shape(input, shape, array, "save an array with one row per sample");
    plan.cut = ArrayPlan::Cut::kConstant;
    plan.num_samples = -1;
    return plan;
  }
  if (num_elements(shape) == 0 && shape[0] == 0) {
    throw Error(ErrorCode::kInvalidData, "data",
                array + " holds no samples, its shape is " + shape_text(shape),
                "save at least one sample");
  }
  if (shape.size() == rank) {
    plan.cut = ArrayPlan::Cut::kRows;
    const std::int64_t fixed = input.has_shape ? input.shape[0].size : -1;
    if (fixed > 0 && batch_size > 0 && batch_size != fixed) {
      throw Error(ErrorCode::kInvalidArgument, "data",
                  "a batch size of " + std::to_string(batch_size) + " was asked for, but " +
                      input_text(input),
                  "leave the batch size out");
    }
    plan.rows = fixed > 0 ? fixed : batch_size > 0 ? batch_size : 1;
    check_dimensions(input, 1, shape, 1, array);
    if (fixed > 0 && shape[0] % fixed != 0) {
      fail_shape(input, shape, array,
                 "make the first dimension a multiple of " + std::to_string(fixed));
    }
    plan.num_samples = (shape[0] + plan.rows - 1) / plan.rows;
    return plan;
  }
  if (shape.size() == rank + 1) {
    plan.cut = ArrayPlan::Cut::kItems;
    check_dimensions(input, 0, shape, 1, array);
    plan.num_samples = shape[0];
    return plan;
  }
  if (shape.size() + 1 == rank && (input.shape[0].size < 0 || input.shape[0].size == 1)) {
    plan.cut = ArrayPlan::Cut::kWhole;
    check_dimensions(input, 1, shape, 0, array);
    plan.num_samples = 1;
    return plan;
  }
  fail_shape(input, shape, array, "stack the samples along the first dimension");
}

void check_tensor(const ValueInfo& input, const Tensor& tensor, const std::string& origin) {
  check_type(input, tensor.type(), 0, std::string(data_type_name(tensor.type())), origin);
  if (!input.has_shape) return;
  if (tensor.shape().size() != input.shape.size()) {
    fail_shape(input, tensor.shape(), origin,
               "save a tensor with " + std::to_string(input.shape.size()) + " dimensions");
  }
  check_dimensions(input, 0, tensor.shape(), 0, origin);
}

void check_finite(const Tensor& tensor, const std::string& input, std::int64_t sample,
                  const std::string& origin) {
  const bool is_double = tensor.type() == DataType::kDouble;
  if (!is_double && !is_quantizable_type(tensor.type())) return;
  bool nan = false;
  bool infinite = false;
  const auto scan = [&](const auto* values, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      nan |= std::isnan(values[i]);
      infinite |= std::isinf(values[i]);
    }
  };
  if (is_double) {
    scan(static_cast<const double*>(tensor.data()), static_cast<std::size_t>(tensor.size()));
  } else {
    const Tensor values = tensor.to_float();
    if (scoring::all_finite(values.floats())) return;
    scan(values.floats().data(), values.floats().size());
  }
  if (!nan && !infinite) return;
  throw Error(ErrorCode::kInvalidData, "data",
              "input \"" + input + "\" holds " + (nan ? "NaN" : "infinite values") + " in sample " +
                  std::to_string(sample) + " (counted from 0) of " + origin,
              "check the preprocessing, or leave the sample out");
}

std::vector<std::string> input_names(std::span<const ValueInfo> inputs) {
  std::vector<std::string> names;
  for (const ValueInfo& input : inputs) names.push_back(input.name);
  return names;
}

std::vector<std::string> names_beyond(std::span<const ValueInfo> inputs,
                                      std::span<const std::string> available) {
  std::vector<std::string> beyond;
  for (const std::string& name : available) {
    const bool known = std::any_of(inputs.begin(), inputs.end(),
                                   [&](const ValueInfo& input) { return input.name == name; });
    if (!known) beyond.push_back(name);
  }
  return beyond;
}

void require_names(std::span<const ValueInfo> inputs, std::span<const std::string> available,
                   const std::string& origin, const std::string& kind) {
  std::vector<std::string> missing;
  for (const ValueInfo& input : inputs) {
    if (std::find(available.begin(), available.end(), input.name) == available.end())
      missing.push_back(input.name);
  }
  if (missing.empty()) return;
  const std::vector<std::string> spare = names_beyond(inputs, available);
  std::string near = closest_name(missing[0], spare);
  // One name missing and one too many: they belong together, however they are spelled.
  if (near.empty() && missing.size() == 1 && spare.size() == 1 && available.size() == inputs.size())
    near = spare[0];
  throw Error(ErrorCode::kInvalidData, "data",
              origin + " has no " + kind + " for input " + quoted_list(missing) + "; it holds " +
                  quoted_list(available) + " and the model takes " +
                  quoted_list(input_names(inputs)),
              near.empty() ? "name one " + kind + " after each input"
                           : "rename \"" + near + "\" to \"" + missing[0] + "\"");
}

}  // namespace bitsweep::data
