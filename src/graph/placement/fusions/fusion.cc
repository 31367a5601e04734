#include "graph/placement/fusions/fusion.h"

#include <cstring>

namespace bitsweep::graph {
namespace {

// Axes of a Reduce node, from its attribute or (newer operator sets) its second input; nullopt when
// computed or absent.
std::optional<std::vector<std::int64_t>> reduced_axes(const Graph& graph, const Node& reduce) {
  if (const auto axes = reduce.attributes.find("axes"); axes != reduce.attributes.end())
    return axes->second.ints;
  if (reduce.inputs.size() < 2 || reduce.inputs[1] == kAbsent) return std::nullopt;
  const Tensor value = graph.static_value(reduce.inputs[1]);
  if (value.type() != DataType::kInt64) return std::nullopt;
  std::vector<std::int64_t> axes(static_cast<std::size_t>(value.size()));
  if (!axes.empty()) std::memcpy(axes.data(), value.data(), value.size_bytes());
  return axes;
}

}  // namespace

bool is_private(const Graph& graph, TensorId tensor) {
  if (tensor == kAbsent) return false;
  const TensorInfo& info = graph.tensor(tensor);
  return info.uses.size() == 1 && info.uses[0].input >= 0 && !info.is_output;
}

int private_reader(const Graph& graph, TensorId tensor, std::string_view op_type) {
  if (!is_private(graph, tensor)) return -1;
  const int reader = graph.tensor(tensor).uses[0].node;
  return graph.node(reader).op_type == op_type ? reader : -1;
}

int producer_of_type(const Graph& graph, TensorId tensor, std::string_view op_type) {
  if (tensor == kAbsent) return -1;
  const int producer = graph.tensor(tensor).producer;
  return producer >= 0 && graph.node(producer).op_type == op_type ? producer : -1;
}

TensorId other_operand(const Node& node, TensorId tensor) {
  if (node.inputs.size() != 2 || (node.inputs[0] == tensor) == (node.inputs[1] == tensor))
    return kAbsent;
  return node.inputs[0] == tensor ? node.inputs[1] : node.inputs[0];
}

std::optional<double> static_scalar(const Graph& graph, TensorId tensor) {
  if (tensor == kAbsent || !graph.tensor(tensor).is_static ||
      !is_quantizable_type(graph.tensor(tensor).type)) {
    return std::nullopt;
  }
  const Tensor value = graph.static_value(tensor);
  if (value.size() != 1) return std::nullopt;
  return value.to_float().floats()[0];
}

bool reduces_last_axis(const Graph& graph, const Node& reduce) {
  const auto axes = reduced_axes(graph, reduce);
  if (!axes || axes->size() != 1 || reduce.int_attribute("keepdims", 1) == 0) return false;
  const auto& shape = graph.tensor(reduce.inputs[0]).shape;
  // An axis counted from the front of an unseen shape is taken for the last one, as norms are
  // written that way.
  return (*axes)[0] == -1 ||
         ((*axes)[0] > 0 && (!shape || (*axes)[0] == static_cast<int>(shape->size()) - 1));
}

}  // namespace bitsweep::graph
