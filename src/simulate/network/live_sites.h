#pragma once

#include <vector>

#include "simulate/network/network.h"

namespace bitsweep::simulate {

/// The sites with the settings and ties that their quantizers have now.
std::vector<graph::Site> live_sites(const Network& network);

/// Puts the rules that hold whatever the rules file says on the quantizers as they are set now.
void apply_exception_rules(Network& network);

}  // namespace bitsweep::simulate
