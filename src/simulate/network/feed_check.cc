#include "simulate/network/feed_check.h"

#include <algorithm>

#include "bitsweep/error.h"
#include "bitsweep/sequence.h"

namespace bitsweep::simulate {
namespace {

std::string input_names(const std::vector<ValueInfo>& inputs) {
  std::string text;
  for (const ValueInfo& input : inputs) text += (text.empty() ? "\"" : ", \"") + input.name + "\"";
  return text;
}

std::string declared_shape(const ValueInfo& input) {
  std::string text = "[";
  for (std::size_t i = 0; i < input.shape.size(); ++i) {
    if (i > 0) text += ',';
    const Dimension& d = input.shape[i];
    text += d.size >= 0 ? std::to_string(d.size) : d.name.empty() ? "?" : d.name;
  }
  return text + "]";
}

[[noreturn]] void fail(const std::string& what, const std::string& fix) {
  throw Error(ErrorCode::kInvalidData, "sample", what, fix);
}

void check_input(const ValueInfo& input, const Tensor& value) {
  const std::string name = "input \"" + input.name + "\"";
  if (input.type == DataType::kUndefined) return;  // the session looks at sequences and the like
  if (is_sequence(value)) {
    fail(name + " is a list of arrays that differ in shape, the model wants one tensor",
         "pass one array");
  }
  if (value.type() != input.type) {
    fail(name + " is " + std::string(data_type_name(value.type())) + ", the model wants " +
             std::string(data_type_name(input.type)),
         "convert the array");
  }
  if (!input.has_shape) return;
  bool fits = value.shape().size() == input.shape.size();
  for (std::size_t i = 0; fits && i < input.shape.size(); ++i) {
    fits = input.shape[i].size < 0 || input.shape[i].size == value.shape()[i];
  }
  if (!fits) {
    fail(name + " has shape " + shape_text(value.shape()) + ", the model wants " +
             declared_shape(input),
         "reshape the array; named dimensions take any size");
  }
}

}  // namespace

void check_feed(const Model& model, const Feed& feed) {
  const std::vector<ValueInfo> inputs = model.inputs();
  for (const ValueInfo& input : inputs) {
    const auto it = feed.find(input.name);
    if (it == feed.end()) {
      fail("input \"" + input.name + "\" is missing", "feed every one of " + input_names(inputs));
    }
    check_input(input, it->second);
  }
  for (const auto& [name, value] : feed) {
    const bool known = std::any_of(inputs.begin(), inputs.end(),
                                   [&](const ValueInfo& v) { return v.name == name; });
    if (!known)
      fail("the model has no input \"" + name + "\"", "its inputs are " + input_names(inputs));
  }
}

}  // namespace bitsweep::simulate
