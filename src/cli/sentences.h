#pragma once

#include <string>
#include <vector>

#include "bitsweep/mix.h"
#include "bitsweep/sweep.h"
#include "sweep_output.h"

namespace bitsweep::cli {

/// What a sweep found, for people: the worst groups and where in the network they lie.
/// `in_network`: rows of the result in the order of the network.
std::vector<std::string> sweep_sentences(const SweepResult& result,
                                         const std::vector<GroupDetail>& details,
                                         const std::vector<std::size_t>& in_network);

/// What a mix chose: quality, predicted and measured, against its cost, and what else there is.
std::vector<std::string> mix_sentences(const MixResult& result, const std::string& cost);

/// By how much the test samples miss the quality that was asked for, and what to do; empty when
/// they do not.
std::string missed_on_test(const MixResult& result, const std::vector<MixTarget>& targets);

/// A command line as a shell reads it.
std::string shell_line(const std::vector<std::string>& words);

/// What a command was called with, as its options have it.
struct CommandInputs {
  std::string model{};
  std::string data{};
  std::string calibration_data{};  ///< empty: `data`
  std::string rules = "default";
};

/// The mix that follows a sweep or an analysis.
std::string next_mix(const CommandInputs& inputs);

}  // namespace bitsweep::cli
