#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "bitsweep/simulation.h"
#include "bitsweep/verify.h"
#include "graph/graph.h"

namespace bitsweep::exporting {

/// Values of the constants that an exported model stores in 32 bits.
struct StoredBiases {
  std::map<graph::TensorId, Tensor> by_tensor;
  std::map<std::pair<int, int>, Tensor> by_input;  ///< (node, input) of shared ones
};

/// As this simulation would store them: its encodings, not those of the file.
StoredBiases stored_biases(const Simulation& simulation, const graph::Graph& exported);

/// The first tensor, in the order of the nodes, whose values in the exported model differ from
/// those of the simulation by more than `max_steps`; found by bisection, with a run of both models
/// up to each cut. Constants of the node behind the cut are looked at first, since a wrong weight
/// shows in what is computed with it. Empty when no cut differs.
/// @throws Error(kRuntime) when a model does not run.
std::optional<Disagreement> first_disagreement(const Simulation& simulation,
                                               const graph::Graph& exported,
                                               const StoredBiases& biases, const Feed& sample,
                                               double max_steps);

}  // namespace bitsweep::exporting
