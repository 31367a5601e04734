#include "graph/placement/supergroups.h"

#include <algorithm>

namespace bitsweep::graph {
namespace {

// The operator that reads the outputs of `op` when there is exactly one read of them all; -1
// otherwise.
int only_consumer(const Draft& draft, const Operator& op) {
  int consumer = -1;
  for (const TensorId output : op.outputs) {
    if (output == kAbsent) continue;
    for (const Use& use : draft.graph().tensor(output).uses) {
      if (consumer >= 0 || use.input < 0) return -1;
      consumer = draft.operator_graph().operator_of_node[use.node];
    }
  }
  return consumer;
}

// Kernels of 3-D and depthwise convolutions have no fused activation.
bool may_start(const Draft& draft, const Operator& op) {
  if (op.type != "Conv" && op.type != "ConvTranspose") return true;
  const auto& shape = draft.graph().tensor(op.inputs[1]).shape;
  if (!shape) return true;
  const bool depthwise = draft.graph().node(op.nodes[0]).int_attribute("group", 1) > 1 &&
                         shape->size() > 1 && (*shape)[1] == 1;
  return shape->size() != 5 && !depthwise;
}

}  // namespace

std::vector<SupergroupMatch> find_supergroups(const Draft& draft, const std::vector<bool>& barred) {
  std::vector<const std::vector<std::string>*> patterns;
  for (const auto& pattern : draft.rules().supergroups) patterns.push_back(&pattern);
  std::stable_sort(patterns.begin(), patterns.end(),
                   [](const auto* a, const auto* b) { return a->size() > b->size(); });

  const std::vector<Operator>& operators = draft.operators();
  std::vector<bool> taken(operators.size(), false);
  std::vector<SupergroupMatch> matches;
  for (const auto* pattern : patterns) {
    for (int start = 0; start < static_cast<int>(operators.size()); ++start) {
      SupergroupMatch match{.operators = {}, .pattern = pattern};
      int at = start;
      for (std::size_t i = 0; i < pattern->size(); ++i) {
        if (i > 0) at = only_consumer(draft, operators[match.operators.back()]);
        if (at < 0 || taken[at] || operators[at].type != (*pattern)[i]) break;
        match.operators.push_back(at);
      }
      if (match.operators.size() != pattern->size() || barred[start]) continue;
      if (!may_start(draft, operators[start])) continue;
      for (const int op : match.operators) taken[op] = true;
      matches.push_back(std::move(match));
    }
  }
  return matches;
}

}  // namespace bitsweep::graph
