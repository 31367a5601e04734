#pragma once

#include <string>
#include <vector>

#include "bitsweep/mix.h"
#include "bitsweep/report.h"
#include "bitsweep/sweep.h"

namespace bitsweep::report {

/// What a sweep found, for people: the worst groups and where in the network they lie.
/// `in_network`: rows of the result in the order of the network.
std::vector<std::string> sweep_sentences(const SweepResult& result,
                                         const std::vector<GroupDetail>& details,
                                         const std::vector<std::size_t>& in_network);

/// What a mix chose: quality, predicted and measured, against its cost, and what else there is.
std::vector<std::string> mix_sentences(const MixResult& result, const std::string& cost);

}  // namespace bitsweep::report
