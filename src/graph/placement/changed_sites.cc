#include "graph/placement.h"
#include "graph/placement/draft.h"
#include "graph/placement/op_types.h"

namespace bitsweep::graph {

void apply_exception_rules(const Graph& graph, const Rules& rules, std::vector<Site>& sites) {
  const PlacementOptions options;  // of fresh sites only; these bring their settings
  Draft draft(graph, rules, options);
  draft.load(sites);
  apply_operator_rules(draft);
  const std::vector<Site> changed = draft.finish();
  for (std::size_t i = 0; i < sites.size(); ++i) {
    sites[i].format = changed[i].format;
    sites[i].symmetric = changed[i].symmetric;
    sites[i].per_channel = changed[i].per_channel;
  }
}

int effective_site(const Graph& graph, const std::vector<Site>& sites, TensorId tensor) {
  const auto enabled_site = [&](TensorId wanted) {
    for (int i = 0; i < static_cast<int>(sites.size()); ++i) {
      if (sites[i].tensor == wanted) return sites[i].enabled ? i : -1;
    }
    return -1;
  };
  while (tensor != kAbsent) {
    if (const int site = enabled_site(tensor); site >= 0) return site;
    const int producer = graph.tensor(tensor).producer;
    if (producer < 0 || !passes_values_through(graph, graph.node(producer))) return -1;
    tensor = graph.node(producer).inputs[0];
  }
  return -1;
}

}  // namespace bitsweep::graph
