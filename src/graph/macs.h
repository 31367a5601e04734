#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace bitsweep::graph {

/// Multiply-accumulates of one run of a node, from the observed shapes; 0 for operators that do not
/// multiply matrices, for constant nodes, and where a shape is not known. The body of a Loop, Scan
/// or If is not counted.
///
/// Conv: output elements * input channels per group * kernel size. ConvTranspose: the same from the
/// input's side. Gemm, MatMul: M * N * K over all batches, whether the second operand is a weight
/// or not. RNN, GRU, LSTM: steps * batch * (elements of W and R). Einsum: product of all index
/// sizes. Attention (opset 23): both products.
std::int64_t macs_of(const Graph& graph, int node);

/// Estimated run time of a node in nanoseconds, for choosing where to cut: only ratios matter.
/// 0 for constant nodes; where a shape is not known, the part that needs it is left out.
double cost_of(const Graph& graph, int node);

}  // namespace bitsweep::graph
