#pragma once

#include <map>
#include <vector>

#include "bitsweep/tensor.h"
#include "graph/graph.h"

namespace bitsweep::simulate {

/// What tensors of a graph hold in one run.
using TensorValues = std::map<graph::TensorId, Tensor>;

/// The inputs that the feed has.
TensorValues values_of(const graph::Graph& graph, const Feed& feed);
/// The graph's outputs in file order; one that `values` lacks is that of `fallback`.
std::vector<Tensor> in_output_order(const graph::Graph& graph, const TensorValues& values,
                                    const std::vector<Tensor>& fallback);
/// The graph's outputs in file order, each once.
std::vector<graph::TensorId> distinct_outputs(const graph::Graph& graph);

}  // namespace bitsweep::simulate
