#include "simulate/runtime/infer_types.h"

#include <memory>
#include <optional>
#include <utility>

#include "bitsweep/error.h"
#include "simulate/runtime/unknown_operator.h"

namespace bitsweep::simulate {

using graph::TensorId;

graph::SubgraphSpec every_tensor(const graph::Graph& graph) {
  graph::SubgraphSpec spec;
  spec.inputs = graph.inputs();
  for (int n = 0; n < static_cast<int>(graph.nodes().size()); ++n) {
    if (!graph.node(n).is_constant) spec.nodes.push_back(n);
  }
  for (TensorId t = 0; t < static_cast<TensorId>(graph.tensors().size()); ++t) {
    if (graph.tensor(t).producer >= 0 && !graph.tensor(t).is_static) spec.outputs.push_back(t);
  }
  return spec;
}

void infer_types(graph::Graph& graph, SessionOptions options) {
  const graph::SubgraphSpec spec = every_tensor(graph);
  if (spec.outputs.empty()) return;
  options.optimization = Optimization::kNone;
  std::unique_ptr<const Session> session;
  try {
    session = std::make_unique<const Session>(graph::build_subgraph(graph, spec), options);
  } catch (const Error& refusal) {
    explain_unknown_operator(graph, refusal);
    throw;
  }
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    graph.set_type(spec.outputs[i], session->output_type(i));
    if (auto shape = session->output_shape(i))
      graph.set_inferred_shape(spec.outputs[i], std::move(*shape));
  }
}

}  // namespace bitsweep::simulate
