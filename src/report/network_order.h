#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bitsweep/simulation.h"

namespace bitsweep::report {

/// Groups of tensors along the network: by the first operator that reads or makes one of them, and
/// within it inputs before outputs. @returns indices of `groups`.
std::vector<std::size_t> network_order(const Simulation& simulation,
                                       const std::vector<std::vector<std::string>>& groups);

}  // namespace bitsweep::report
