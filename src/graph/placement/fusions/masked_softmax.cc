#include <algorithm>

#include "graph/placement/fusions/fusion.h"

namespace bitsweep::graph {
namespace {

constexpr double kMaskMax =
    -20.0;  // exp(-20) is 2e-9: a masked place gets no weight at any quantized width
constexpr std::size_t kRank = 4;  // batch, heads, queries, keys

bool is_over_last_axis(const Graph& graph, const Node& softmax) {
  const std::int64_t axis = softmax.int_attribute("axis", -1);
  const auto& shape = graph.tensor(softmax.inputs[0]).shape;
  if (shape && shape->size() != kRank) return false;
  return axis == -1 || axis == static_cast<std::int64_t>(kRank) - 1;
}

}  // namespace

std::vector<Fusion> find_masked_softmax(const Graph& graph) {
  std::vector<Fusion> fusions;
  for (int id = 0; id < static_cast<int>(graph.nodes().size()); ++id) {
    const Node& softmax = graph.node(id);
    if (softmax.op_type != "Softmax" || !is_over_last_axis(graph, softmax)) continue;
    const int where = producer_of_type(graph, softmax.inputs[0], "Where");
    if (where < 0 || !is_private(graph, softmax.inputs[0])) continue;
    const TensorId mask = graph.node(where).inputs[0];
    const TensorId x = graph.node(where).inputs[1];
    const TensorId lowered = graph.node(where).inputs[2];
    const int add = producer_of_type(graph, lowered, "Add");
    if (add < 0 || !is_private(graph, lowered)) continue;
    for (const TensorId minimum : graph.node(add).inputs) {
      const int reduce = producer_of_type(graph, minimum, "ReduceMin");
      if (reduce < 0 || !is_private(graph, minimum)) continue;
      const std::optional<double> depth =
          static_scalar(graph, other_operand(graph.node(add), minimum));
      if (!depth || *depth > kMaskMax || graph.node(reduce).inputs[0] != x) continue;
      if (!reduces_last_axis(graph, graph.node(reduce))) continue;
      Fusion fusion{.type = "MaskedSoftmax",
                    .nodes = {reduce, add, where, id},
                    .inputs = {x, mask},
                    .outputs = softmax.outputs};
      std::sort(fusion.nodes.begin(), fusion.nodes.end());
      fusions.push_back(std::move(fusion));
      break;
    }
  }
  return fusions;
}

}  // namespace bitsweep::graph
