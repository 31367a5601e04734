#pragma once

#include <map>
#include <optional>
#include <vector>

#include "bitsweep/simulation.h"
#include "bitsweep/verify.h"
#include "graph/graph.h"

namespace bitsweep::exporting {

/// Values of the constants that an exported model stores in 32 bits, as this simulation would store
/// them: its encodings, not those of the file.
std::map<graph::TensorId, Tensor> stored_biases(const Simulation& simulation,
                                                const graph::Graph& exported);

/// The first tensor, in the order of the nodes, whose values in the exported model differ from
/// those of the simulation by more than `max_steps`; found by bisection, with a run of both models
/// up to each cut. Constants of the node behind the cut are looked at first, since a wrong weight
/// shows in what is computed with it. Empty when no cut differs.
/// @throws Error(kRuntime) when a model does not run.
std::optional<Disagreement> first_disagreement(const Simulation& simulation,
                                               const graph::Graph& exported,
                                               const std::map<graph::TensorId, Tensor>& constants,
                                               const Feed& sample, double max_steps);

}  // namespace bitsweep::exporting
