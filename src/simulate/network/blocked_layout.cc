#include "simulate/network/blocked_layout.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace bitsweep::simulate {

using graph::TensorId;

namespace {

// What ONNX Runtime computes in blocks of channels, and what it hands on in them.
bool starts_blocks(const graph::Node& node) {
  static const std::set<std::string, std::less<>> kTypes = {"Conv", "MaxPool", "AveragePool",
                                                            "GlobalMaxPool", "GlobalAveragePool"};
  return node.domain.empty() && kTypes.count(node.op_type) > 0;
}

bool combines_blocks(const graph::Node& node) {
  static const std::set<std::string, std::less<>> kTypes = {"Add", "Sum", "Mul", "Concat"};
  return node.domain.empty() && kTypes.count(node.op_type) > 0;
}

bool keeps_blocks(const graph::Node& node) {
  static const std::set<std::string, std::less<>> kTypes = {
      "BatchNormalization", "Relu",        "Clip",   "Tanh",     "Sigmoid", "Elu",
      "LeakyRelu",          "HardSigmoid", "Resize", "Upsample", "Identity"};
  return combines_blocks(node) || (node.domain.empty() && kTypes.count(node.op_type) > 0);
}

// The factors of a product that depend on the sample: through products and scalings by constants.
void collect_factors(const graph::Graph& graph, TensorId t, std::vector<TensorId>* factors) {
  const int from = graph.tensor(t).producer;
  const std::string_view type = from < 0 ? std::string_view() : graph.node(from).op_type;
  const bool multiplies = type == "Mul" || type == "Div";
  if (!multiplies || (type == "Div" && !graph.tensor(graph.node(from).inputs[1]).is_static)) {
    factors->push_back(t);
    return;
  }
  for (const TensorId input : graph.node(from).inputs) {
    if (!graph.tensor(input).is_static) collect_factors(graph, input, factors);
  }
}

// x of x * sigmoid(x), and of the GELU x * (erf(x / sqrt(2)) + 1) / 2: the runtime computes them
// as one operator, element by element. kAbsent when the node ends neither.
TensorId gated_tensor(const graph::Graph& graph, const graph::Node& node) {
  if (node.op_type != "Mul" || !node.domain.empty()) return graph::kAbsent;
  std::vector<TensorId> factors;
  collect_factors(graph, node.outputs[0], &factors);
  if (factors.size() != 2) return graph::kAbsent;
  const auto made_by = [&](TensorId t, std::string_view type) -> const graph::Node* {
    const int from = graph.tensor(t).producer;
    return from >= 0 && graph.node(from).op_type == type ? &graph.node(from) : nullptr;
  };
  for (const auto& [x, gate] : {std::pair{factors[0], factors[1]}, {factors[1], factors[0]}}) {
    if (const graph::Node* sigmoid = made_by(gate, "Sigmoid");
        sigmoid != nullptr && sigmoid->inputs[0] == x) {
      return x;
    }
    const graph::Node* plus_one = made_by(gate, "Add");
    if (plus_one == nullptr) continue;
    for (const TensorId t : plus_one->inputs) {
      const graph::Node* erf = made_by(t, "Erf");
      std::vector<TensorId> scaled;
      if (erf != nullptr) collect_factors(graph, erf->inputs[0], &scaled);
      if (scaled.size() == 1 && scaled[0] == x) return x;
    }
  }
  return graph::kAbsent;
}

bool follows_convolution(const graph::Graph& graph, const graph::Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId t) {
    int from = graph.tensor(t).producer;
    while (from >= 0 && graph.node(from).op_type == "Identity")
      from = graph.tensor(graph.node(from).inputs[0]).producer;
    return from >= 0 && graph.node(from).op_type == "Conv";
  });
}

// Whether the runtime computes a node in blocks, given which of the tensors before it are blocked.
bool is_computed_in_blocks(const graph::Graph& graph, const graph::Node& node,
                           const std::vector<char>& blocked) {
  const auto is_blocked = [&](TensorId t) { return blocked[static_cast<std::size_t>(t)] != 0; };
  if (starts_blocks(node)) return true;
  const TensorId gated = gated_tensor(graph, node);
  if (gated != graph::kAbsent) return is_blocked(gated);
  if (!keeps_blocks(node) || node.inputs.empty()) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId t) {
    if (t == graph::kAbsent) return true;
    if (!graph.tensor(t).is_static) return is_blocked(t);
    // A constant operand of a sum or a product is not blocked, unless it is a bias or scale that
    // goes into the convolution.
    return !combines_blocks(node) || follows_convolution(graph, node);
  });
}

// By tensor. The graph's order is a topological one.
std::vector<char> blocked_tensors(const graph::Graph& graph) {
  std::vector<char> blocked(graph.tensors().size(), 0);
  for (const graph::Node& node : graph.nodes()) {
    if (!is_computed_in_blocks(graph, node, blocked)) continue;
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
