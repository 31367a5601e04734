#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocate/mix/encoding_bank.h"
#include "allocate/mix/kept_runs.h"

namespace bitsweep::allocate {

/// What each choice of each group does to the outputs, alone.
struct GroupLosses {
  /// Squared output change over squared output, summed over the outputs: [group][choice]. Samples
  /// count by their weights, scaled so that the losses are as large as without, in geometric mean.
  std::vector<std::vector<double>> loss;
  /// Inner products of the changes of two choices in the same units, as far as samples agree about
  /// them; zero on the diagonal. Sketched where the outputs are large.
  std::vector<double> interactions;
  std::vector<double> sample_weights;  ///< see sample_weight()
  /// (group, choice) whose outputs were not finite.
  std::vector<std::pair<int, int>> not_finite;
};

struct GroupLossOptions {
  std::vector<int> outputs;  ///< that count; empty: all floating-point ones
  int num_threads = 0;
  std::int64_t max_memory_bytes = 0;
  KeptRuns* kept = nullptr;  ///< what is known there is not run; never null
};

/// Runs every choice of every group alone on every sample, samples outside, choices inside, each
/// from the last kept boundary before its first change. choices[g] holds indices of the bank's
/// candidates.
GroupLosses measure_group_losses(Simulation& simulation, EncodingBank& bank,
                                 const std::vector<QuantizerGroup>& groups,
                                 const std::vector<std::vector<int>>& choices,
                                 SampleSource& samples, const GroupLossOptions& options,
                                 const Tick& tick);

}  // namespace bitsweep::allocate
