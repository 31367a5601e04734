#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bitsweep/sweep.h"
#include "simulate/network/network.h"

namespace bitsweep::sweeping {

/// What a sweep has to evaluate. Groups that lead to the same state (tied quantizers) share it.
struct StateTable {
  std::vector<std::string> names;  ///< of the groups
  std::vector<simulate::State> states;
  std::vector<std::size_t> state_of_group;
};

/// @throws Error(kNotReady) without groups or with an uncalibrated quantizer; Error(kNotFound).
StateTable make_states(const Simulation& simulation, const std::vector<SweepGroup>& groups,
                       SweepMode mode);

/// Everything that is on in one of them.
simulate::State union_of(const std::vector<simulate::State>& states);

}  // namespace bitsweep::sweeping
