#pragma once

#include <map>
#include <string>
#include <vector>

#include "bitsweep/tensor.h"
#include "graph/graph.h"

namespace bitsweep::simulate {

/// What tensors of a graph hold in one run.
using TensorValues = std::map<graph::TensorId, Tensor>;

/// The shapes of the feed's tensors, one after the other: what the runtime picks its kernels by.
std::string shapes_text(const Feed& feed);
/// Whether these can be handed from one session to the next: no sequences, maps or strings.
bool can_be_handed_on(const graph::Graph& graph, const std::vector<graph::TensorId>& tensors);
/// The inputs that the feed has.
TensorValues values_of(const graph::Graph& graph, const Feed& feed);
/// The graph's outputs in file order; one that `values` lacks is that of `fallback`.
std::vector<Tensor> in_output_order(const graph::Graph& graph, const TensorValues& values,
                                    const std::vector<Tensor>& fallback);
/// The graph's outputs in file order, each once.
std::vector<graph::TensorId> distinct_outputs(const graph::Graph& graph);

}  // namespace bitsweep::simulate
