#pragma once

#include <string>

#include "bitsweep/sample_source.h"
#include "bitsweep/simulation.h"

namespace bitsweep::simulate {

/// Where a simulation begins to compute NaN: the first tensor, in the order of the nodes, that has
/// one although the float model has none there, and the inputs of its node that the quantizers
/// turned to zero. Part of a sentence; empty when there is no such tensor.
/// Cost: a run of both models with every tensor kept.
std::string first_nan(const Simulation& simulation, const Feed& sample);

}  // namespace bitsweep::simulate
