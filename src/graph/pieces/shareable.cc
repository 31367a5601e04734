#include "graph/pieces/shareable.h"

#include <algorithm>
#include <set>
#include <vector>

namespace bitsweep::graph {
namespace {

/// Whether a value depends on more than constants and shapes. The runtime knows all others when it
/// makes a session for fixed shapes, and computes what follows from them once.
bool depends_on_feeds(const Graph& graph, TensorId tensor) {
  std::vector<TensorId> open = {tensor};
  std::set<TensorId> seen;
  while (!open.empty()) {
    const TensorId t = open.back();
    open.pop_back();
    if (t == kAbsent || graph.tensor(t).is_static || !seen.insert(t).second) continue;
    if (graph.tensor(t).producer < 0) return true;
    const Node& node = graph.node(graph.tensor(t).producer);
    if (node.op_type == "Shape" || node.op_type == "Size") continue;
    if (node.has_subgraph || node.inputs.empty()) return true;
    open.insert(open.end(), node.inputs.begin(), node.inputs.end());
  }
  return false;
}

}  // namespace

bool is_shareable(const Graph& graph, TensorId weight) {
  const TensorInfo& tensor = graph.tensor(weight);
  return !tensor.is_output &&
         std::all_of(tensor.uses.begin(), tensor.uses.end(), [&](const Use& use) {
           const Node& node = graph.node(use.node);
           if (!node.domain.empty()) return false;
           if (node.op_type == "Gather")
             return use.input == 0 && depends_on_feeds(graph, node.inputs[1]);
           return (node.op_type == "MatMul" || node.op_type == "Gemm") && use.input == 1 &&
                  !node.is_constant;
         });
}

}  // namespace bitsweep::graph
