#pragma once

#include "graph/graph.h"

namespace bitsweep::graph {

/// Whether no optimization of the runtime looks at this weight, so that sessions may use it where
/// it is: all that reads it multiplies by it (MatMul, Gemm) or looks rows of it up (Gather) whose
/// numbers are not known before a run.
bool is_shareable(const Graph& graph, TensorId weight);

}  // namespace bitsweep::graph
