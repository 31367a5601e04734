#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bitsweep/metric.h"
#include "sweep/certainty.h"
#include "sweep/sample_order.h"

namespace bitsweep::sweeping {

/// How far scores of all samples lie from what a part of them said: measured on the pilots, whose
/// answers are all known.
///
/// Draws from few samples are too sure of themselves where errors have heavy tails: what was not
/// seen is in none of them. The pilots show by how much, as in a calibrated bootstrap (Loh 1987,
/// Calibrating Confidence Coefficients), so that a gap can be trusted as often as it deserves.
class PilotMisses {
 public:
  /// `pilots`: sums of each pilot on every sample, in the order of the source.
  PilotMisses(const MetricAccumulator& metric, const std::vector<SampleSums>& pilots,
              const SampleOrder& order, std::uint64_t seed);

  /// Part of the estimates from `num_samples` samples, of every pilot and in several random orders,
  /// that miss the pilot's score by fewer standard deviations of the draws than `gap`.
  double coverage(std::size_t num_samples, double gap) const;

 private:
  const std::vector<double>& misses(std::size_t num_samples) const;

  const MetricAccumulator& metric_;
  std::vector<SampleSums> pilots_;  // by place in the order
  std::size_t num_certain_;
  std::uint64_t seed_;
  mutable std::size_t num_samples_ = 0;  // of misses_
  mutable std::vector<double> misses_;
};

}  // namespace bitsweep::sweeping
