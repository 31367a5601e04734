#include "simulate/blocked_layout.h"

#include <algorithm>
#include <string>

namespace bitsweep::simulate {

using graph::TensorId;

namespace {

// What ONNX Runtime computes in blocks of channels, and what it hands on in them.
bool starts_blocks(const graph::Node& node) {
  static const std::set<std::string, std::less<>> kTypes = {"Conv", "MaxPool", "AveragePool",
                                                            "GlobalMaxPool", "GlobalAveragePool"};
  return node.domain.empty() && kTypes.count(node.op_type) > 0;
}

bool keeps_blocks(const graph::Node& node) {
  static const std::set<std::string, std::less<>> kTypes = {
      "Add",  "Sum",     "Mul", "Concat",    "BatchNormalization", "Relu",   "Clip",
      "Tanh", "Sigmoid", "Elu", "LeakyRelu", "HardSigmoid",        "Resize", "Upsample"};
  return node.domain.empty() && kTypes.count(node.op_type) > 0;
}

// x * sigmoid(x) becomes one operator that is not blocked.
bool is_gate(const graph::Graph& graph, const graph::Node& node) {
  if (node.op_type != "Mul") return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId t) {
    const int from = graph.tensor(t).producer;
    return from >= 0 && graph.node(from).op_type == "Sigmoid" &&
           std::find(node.inputs.begin(), node.inputs.end(), graph.node(from).inputs[0]) !=
               node.inputs.end();
  });
}

// By tensor. The graph's order is a topological one.
std::vector<char> blocked_tensors(const graph::Graph& graph) {
  std::vector<char> blocked(graph.tensors().size(), 0);
  for (const graph::Node& node : graph.nodes()) {
    const bool hands_on = keeps_blocks(node) && !is_gate(graph, node) && !node.inputs.empty() &&
                          std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId t) {
                            return t == graph::kAbsent || graph.tensor(t).is_static ||
                                   blocked[static_cast<std::size_t>(t)] != 0;
                          });
    if (!hands_on && !starts_blocks(node)) continue;
    for (const TensorId t : node.outputs) {
      if (t != graph::kAbsent) blocked[static_cast<std::size_t>(t)] = 1;
    }
  }
  return blocked;
}

}  // namespace

std::set<TensorId> inputs_to_block(const graph::Graph& graph, const std::vector<TensorId>& inputs,
                                   const std::vector<int>& nodes) {
  constexpr std::int64_t kChannels = 8;  // fewer or odd ones are not blocked
  const std::vector<char> blocked = blocked_tensors(graph);
  std::set<TensorId> result;
  for (const TensorId t : inputs) {
    const graph::TensorInfo& tensor = graph.tensor(t);
    if (tensor.type != DataType::kFloat || !tensor.shape || tensor.shape->size() != 4 ||
        (*tensor.shape)[1] % kChannels != 0) {
      continue;
    }
    // A convolution blocks its input by itself.
    const bool pays = std::any_of(nodes.begin(), nodes.end(), [&](int n) {
      const graph::Node& node = graph.node(n);
      return (keeps_blocks(node) || (starts_blocks(node) && node.op_type != "Conv")) &&
             std::find(node.inputs.begin(), node.inputs.end(), t) != node.inputs.end();
    });
    if (pays && blocked[static_cast<std::size_t>(t)] != 0) result.insert(t);
  }
  return result;
}

}  // namespace bitsweep::simulate
