#pragma once

#include "graph/pieces/subgraph.h"
#include "simulate/runtime/session.h"

namespace bitsweep::simulate {

/// The whole graph, dead nodes included, with each computed tensor as an output.
graph::SubgraphSpec every_tensor(const graph::Graph& graph);

/// Sets element types and what is known of shapes as the runtime infers them: it knows every
/// operator that it can run. @throws Error naming an operator that it does not know.
void infer_types(graph::Graph& graph, SessionOptions options);

}  // namespace bitsweep::simulate
