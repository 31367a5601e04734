#include <fmt/format.h>

#include "bitsweep/error.h"
#include "graph/placement.h"
#include "graph/placement/draft.h"

namespace bitsweep::graph {
namespace {

// With a computed scale such a node is part of what the float model computes.
void reject_quantized_model(const Graph& graph) {
  constexpr std::size_t kScale = 1;
  for (const Node& node : graph.nodes()) {
    if ((node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear") &&
        graph.tensor(node.inputs[kScale]).is_static) {
      throw Error(ErrorCode::kInvalidModel, "placement",
                  fmt::format("the model is quantized already: it has a {} (\"{}\")", node.op_type,
                              node.name),
                  "start from the float model, or take its quantizers over with from_onnx_qdq");
    }
  }
}

}  // namespace

Placement place_quantizers(const Graph& graph, const PlacementOptions& options) {
  return place_quantizers(graph, load_rules(options.rules), options);
}

Placement place_quantizers(const Graph& graph, const Rules& rules,
                           const PlacementOptions& options) {
  reject_quantized_model(graph);
  Draft draft(graph, rules, options);
  apply_rules(draft);
  apply_exception_rules(draft);
  tie_quantizers(draft);
  return {.sites = draft.finish(),
          .input_quantizers = draft.input_quantizers(),
          .operators = draft.operators(),
          .skipped = explain_skipped(draft),
          .rules_name = rules.name,
          .rules = std::make_shared<const Rules>(rules)};
}

}  // namespace bitsweep::graph
