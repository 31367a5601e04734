#include <algorithm>

#include "graph/placement/fusions/fusion.h"

namespace bitsweep::graph {
namespace {

// x / sqrt(mean(x^2) + eps), the part that both norms share.
struct RootMeanSquare {
  TensorId input = kAbsent;
  TensorId output = kAbsent;
  std::vector<int> nodes;
};

// The tensor that Pow(x, 2) or Mul(x, x) squares, or kAbsent.
TensorId squared_operand(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 2) return kAbsent;
  if (node.op_type == "Mul" && node.inputs[0] == node.inputs[1]) return node.inputs[0];
  if (node.op_type == "Pow" && static_scalar(graph, node.inputs[1]) == 2.0) return node.inputs[0];
  return kAbsent;
}

// Appends the nodes of x / root in any spelling and returns its output, or kAbsent.
TensorId divided_by(const Graph& graph, TensorId x, TensorId root, std::vector<int>& nodes) {
  if (!is_private(graph, root)) return kAbsent;
  const int reader = graph.tensor(root).uses[0].node;
  const Node& node = graph.node(reader);
  const bool is_divisor = node.op_type == "Div" && node.inputs[1] == root;
  if (is_divisor && node.inputs[0] == x) {
    nodes.push_back(reader);
    return node.outputs[0];
  }
  if (node.op_type != "Reciprocal" && !(is_divisor && static_scalar(graph, node.inputs[0]) == 1.0))
    return kAbsent;
  const TensorId inverse = node.outputs[0];
  const int product = private_reader(graph, inverse, "Mul");
  if (product < 0 || other_operand(graph.node(product), inverse) != x) return kAbsent;
  nodes.insert(nodes.end(), {reader, product});
  return graph.node(product).outputs[0];
}

std::optional<RootMeanSquare> match_root_mean_square(const Graph& graph, int mean) {
  const Node& reduce = graph.node(mean);
  if (reduce.op_type != "ReduceMean" || !reduces_last_axis(graph, reduce)) return std::nullopt;
  const TensorId square = reduce.inputs[0];
  if (!is_private(graph, square) || graph.tensor(square).producer < 0) return std::nullopt;
  RootMeanSquare rms{.input = squared_operand(graph, graph.node(graph.tensor(square).producer)),
                     .output = kAbsent,
                     .nodes = {graph.tensor(square).producer, mean}};
  if (rms.input == kAbsent) return std::nullopt;
  const int add = private_reader(graph, reduce.outputs[0], "Add");
  if (add < 0 || !static_scalar(graph, other_operand(graph.node(add), reduce.outputs[0])))
    return std::nullopt;
  const int root = private_reader(graph, graph.node(add).outputs[0], "Sqrt");
  if (root < 0) return std::nullopt;
  rms.nodes.insert(rms.nodes.end(), {add, root});
  rms.output = divided_by(graph, rms.input, graph.node(root).outputs[0], rms.nodes);
  if (rms.output == kAbsent) return std::nullopt;
  return rms;
}

// Takes the Mul (Add) behind the last output into the fusion and its other operand as an input.
bool extend(const Graph& graph, Fusion& fusion, std::string_view op_type) {
  const int next = private_reader(graph, fusion.outputs[0], op_type);
  if (next < 0) return false;
  const TensorId operand = other_operand(graph.node(next), fusion.outputs[0]);
  if (operand == kAbsent) return false;
  fusion.nodes.push_back(next);
  fusion.inputs.push_back(operand);
  fusion.outputs = graph.node(next).outputs;
  return true;
}

// The Sub(x, ReduceMean(x)) that makes the centred values, when nobody but the norm reads them.
struct Centring {
  TensorId input = kAbsent;
  int mean = -1;
  int sub = -1;
};

std::optional<Centring> match_centring(const Graph& graph, const RootMeanSquare& rms) {
  const int sub = producer_of_type(graph, rms.input, "Sub");
  if (sub < 0 || graph.tensor(rms.input).is_output) return std::nullopt;
  const bool read_inside =
      std::all_of(graph.tensor(rms.input).uses.begin(), graph.tensor(rms.input).uses.end(),
                  [&](const Use& use) {
                    return use.input >= 0 && std::find(rms.nodes.begin(), rms.nodes.end(),
                                                       use.node) != rms.nodes.end();
                  });
  const TensorId x = graph.node(sub).inputs[0];
  const TensorId average = graph.node(sub).inputs[1];
  const int mean = producer_of_type(graph, average, "ReduceMean");
  if (!read_inside || mean < 0 || !is_private(graph, average)) return std::nullopt;
  if (graph.node(mean).inputs[0] != x || !reduces_last_axis(graph, graph.node(mean)))
    return std::nullopt;
  return Centring{.input = x, .mean = mean, .sub = sub};
}

}  // namespace

std::vector<Fusion> find_layer_normalization(const Graph& graph) {
  std::vector<Fusion> fusions;
  for (int id = 0; id < static_cast<int>(graph.nodes().size()); ++id) {
    const auto rms = match_root_mean_square(graph, id);
    if (!rms) continue;
    const auto centring = match_centring(graph, *rms);
    if (!centring) continue;
    Fusion fusion{.type = "LayerNormalization",
                  .nodes = rms->nodes,
                  .inputs = {centring->input},
                  .outputs = {rms->output}};
    fusion.nodes.insert(fusion.nodes.end(), {centring->mean, centring->sub});
    if (!extend(graph, fusion, "Mul")) continue;
    extend(graph, fusion, "Add");
    std::sort(fusion.nodes.begin(), fusion.nodes.end());
    fusions.push_back(std::move(fusion));
  }
  return fusions;
}

std::vector<Fusion> find_rms_normalization(const Graph& graph) {
  std::vector<Fusion> fusions;
  for (int id = 0; id < static_cast<int>(graph.nodes().size()); ++id) {
    const auto rms = match_root_mean_square(graph, id);
    if (!rms) continue;
    Fusion fusion{.type = "RMSNormalization",
                  .nodes = rms->nodes,
                  .inputs = {rms->input},
                  .outputs = {rms->output}};
    extend(graph, fusion, "Mul");
    std::sort(fusion.nodes.begin(), fusion.nodes.end());
    fusions.push_back(std::move(fusion));
  }
  return fusions;
}

}  // namespace bitsweep::graph
