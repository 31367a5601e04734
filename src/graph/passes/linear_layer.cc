#include "graph/passes/linear_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "graph/attributes.h"

namespace bitsweep::graph {
namespace {

bool is_float(const onnx::TensorProto& t) {
  const auto type = static_cast<DataType>(t.data_type());
  return is_quantizable_type(type) || type == DataType::kDouble;
}

std::vector<std::size_t> permutation(const onnx::NodeProto& transpose, std::size_t rank) {
  std::vector<std::size_t> perm;
  if (const onnx::AttributeProto* a = find_attribute(transpose, "perm")) {
    perm.assign(a->ints().begin(), a->ints().end());
  } else {
    for (std::size_t i = rank; i > 0; --i) perm.push_back(i - 1);
  }
  return perm;
}

void transpose(StaticParameter* p, const std::vector<std::size_t>& perm) {
  const std::size_t rank = p->shape.size();
  std::vector<std::size_t> strides(rank, 1);
  for (std::size_t d = rank; d > 1; --d)
    strides[d - 2] = strides[d - 1] * static_cast<std::size_t>(p->shape[d - 1]);
  Shape shape;
  std::vector<std::size_t> steps;
  for (const std::size_t d : perm) {
    shape.push_back(p->shape[d]);
    steps.push_back(strides[d]);
  }
  std::vector<double> out;
  out.reserve(p->values.size());
  std::vector<std::int64_t> at(rank, 0);
  for (std::size_t n = 0; n < p->values.size(); ++n) {
    std::size_t from = 0;
    for (std::size_t d = 0; d < rank; ++d) from += static_cast<std::size_t>(at[d]) * steps[d];
    out.push_back(p->values[from]);
    for (std::size_t d = rank; d > 0 && ++at[d - 1] == shape[d - 1]; --d) at[d - 1] = 0;
  }
  p->shape = std::move(shape);
  p->values = std::move(out);
}

/// Spreads the C of a Gemm over the columns; false when it differs between rows.
bool spread_over_columns(StaticParameter* bias, std::int64_t columns) {
  const auto size = static_cast<std::int64_t>(bias->values.size());
  const bool in_columns = bias->shape.empty() || bias->shape.back() == size;
  if (size == columns && in_columns) return true;
  if (size != 1) return false;
  bias->values.assign(static_cast<std::size_t>(columns), bias->values[0]);
  bias->shape = {columns};
  return true;
}

std::variant<LinearLayer, Refusal> with_axes(LinearLayer layer, const onnx::NodeProto& n) {
  const Shape& shape = layer.weight.shape;
  const bool convolution = n.op_type() == "Conv" || n.op_type() == "ConvTranspose";
  if (shape.size() < 2 || (!convolution && shape.size() != 2))
    return Refusal(fmt::format("its weight has the shape {}", shape_text(shape)));
  layer.rows = shape[0];
  layer.columns = shape[1];
  layer.kernel =
      std::accumulate(shape.begin() + 2, shape.end(), std::int64_t{1}, std::multiplies<>());
  layer.group = convolution ? int_attribute(n, "group", 1) : 1;
  if (layer.weight.values.empty() || layer.group < 1 || layer.rows % layer.group != 0)
    return Refusal(fmt::format("its weight of shape {} does not fit {} groups", shape_text(shape),
                               layer.group));
  layer.outputs_are_rows =
      n.op_type() == "Conv" || (n.op_type() == "Gemm" && int_attribute(n, "transB", 0) != 0);
  const std::int64_t other = layer.columns * layer.group;
  layer.out_channels = layer.outputs_are_rows ? layer.rows : other;
  layer.in_channels = layer.outputs_are_rows ? other : layer.rows;
  return layer;
}

}  // namespace

std::variant<StaticParameter, Refusal> read_parameter(ModelEdit* edit, const std::string& tensor) {
  std::vector<int> transposes;
  std::string at = tensor;
  StaticParameter result;
  while ((result.message = edit->static_message(at)) == nullptr) {
    const int from = edit->producer(at);
    if (!edit->is(from, "Transpose") && !edit->is(from, "Identity"))
      return Refusal(fmt::format("its parameter \"{}\" is computed when the model runs", tensor));
    if (edit->only_reader(at) < 0)
      return Refusal(fmt::format("its parameter \"{}\" is shared", tensor));
    if (edit->is(from, "Transpose")) transposes.push_back(from);
    at = edit->node(from).input(0);
  }
  if (edit->only_reader(at) < 0) return Refusal(fmt::format("its parameter \"{}\" is shared", at));
  if (!is_float(*result.message))
    return Refusal(fmt::format("its parameter \"{}\" holds no floats", at));
  result.tensor = at;
  result.shape.assign(result.message->dims().begin(), result.message->dims().end());
  result.values = edit->read(*result.message);
  for (auto t = transposes.rbegin(); t != transposes.rend(); ++t)
    transpose(&result, permutation(edit->node(*t), result.shape.size()));
  return result;
}

std::vector<double>& LinearLayer::bias_values() {
  if (!bias) {
    bias.emplace();
    bias->shape = {out_channels};
    bias->values.assign(static_cast<std::size_t>(out_channels), 0.0);
  }
  return bias->values;
}

bool is_linear_layer(const ModelEdit& edit, int node) {
  static constexpr std::array kTypes = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
  return std::any_of(kTypes.begin(), kTypes.end(),
                     [&](const char* type) { return edit.is(node, type); });
}

std::variant<LinearLayer, Refusal> read_layer(ModelEdit* edit, int node) {
  const onnx::NodeProto& n = edit->node(node);
  if (n.input_size() < 2) return Refusal("it has no weight");
  auto weight = read_parameter(edit, n.input(1));
  if (const auto* refusal = std::get_if<Refusal>(&weight)) return *refusal;
  LinearLayer layer;
  layer.node = node;
  layer.weight = std::get<StaticParameter>(std::move(weight));
  auto axes = with_axes(std::move(layer), n);
  if (const auto* refusal = std::get_if<Refusal>(&axes)) return *refusal;
  layer = std::get<LinearLayer>(std::move(axes));
  if (n.input_size() > 2 && !n.input(2).empty()) {
    auto bias = read_parameter(edit, n.input(2));
    if (const auto* refusal = std::get_if<Refusal>(&bias)) return *refusal;
    layer.bias = std::get<StaticParameter>(std::move(bias));
    if (!spread_over_columns(&*layer.bias, layer.out_channels)) {
      return Refusal(fmt::format("its bias has the shape {} for {} channels",
                                 shape_text(layer.bias->shape), layer.out_channels));
    }
  }
  if (n.op_type() != "Gemm") return layer;
  const double alpha = float_attribute(n, "alpha", 1.0F);
  const double beta = float_attribute(n, "beta", 1.0F);
  for (double& w : layer.weight.values) w *= alpha;
  if (layer.bias) {
    for (double& b : layer.bias->values) b *= beta;
  }
  return layer;
}

void write_layer(ModelEdit* edit, LinearLayer layer) {
  edit->write(layer.weight.message, layer.weight.shape, layer.weight.values);
  const std::string seen = edit->node(layer.node).input(1);
  if (seen != layer.weight.tensor) {
    // Chains of Transpose are passed by; they lead nowhere now, and their shapes are others.
    for (int from = edit->producer(seen); from >= 0;
         from = edit->producer(edit->node(from).input(0))) {
      edit->forget_declaration(edit->node(from).output(0));
      if (edit->node(from).input_size() == 0 || edit->node(from).input(0) == layer.weight.tensor)
        break;
    }
    edit->set_input(layer.node, 1, layer.weight.tensor);
  }
  if (layer.bias) {
    if (layer.bias->message != nullptr) {
      edit->write(layer.bias->message, layer.bias->shape, layer.bias->values);
      edit->set_input(layer.node, 2, layer.bias->tensor);
    } else {
      const std::string bias = edit->add_initializer(edit->label(layer.node) + ".bias",
                                                     layer.weight.message->data_type(),
                                                     layer.bias->shape, layer.bias->values);
      edit->set_input(layer.node, 2, bias);
    }
  }
  onnx::NodeProto* n = edit->mutable_node(layer.node);
  if (n->op_type() == "MatMul" && layer.bias) n->set_op_type("Gemm");
  if (n->op_type() == "Gemm") {
    remove_attribute(n, "alpha");
    remove_attribute(n, "beta");
  }
}

}  // namespace bitsweep::graph
