#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bitsweep/metric.h"
#include "sweep/certainty.h"

namespace bitsweep::sweeping {

/// In which order an adaptive sweep looks at the samples.
///
/// Errors have heavy tails: a few samples may carry almost all of the squared error, and a ranking
/// from others says nothing. A few states that run on every sample, the pilots, show which those
/// are. Each next sample is the one that adds most to what was seen of all pilots: the sum of the
/// logarithms of the seen shares grows most, so that no pilot's heavy sample is left behind for
/// the third one of another (a greedy choice, near the best set of that size: Nemhauser, Wolsey and
/// Fisher 1978).
class SampleOrder {
 public:
  /// `pilots`: sums of each pilot on every sample, at least one; `quiet`: those of a state without
  /// error. A sample's share of a pilot is how far the pilot's score moves when it makes no error
  /// there, over what all samples move it.
  SampleOrder(const MetricAccumulator& metric, const std::vector<SampleSums>& pilots,
              const SampleSums& quiet, std::uint64_t seed);

  std::size_t size() const { return samples_.size(); }
  /// Number in the source of the sample at a place in the order.
  std::size_t sample(std::size_t place) const { return samples_[place]; }

  /// As many places as there are samples, taken from the first `num_seen` ones: what the whole set
  /// is expected to look like. The later half of the seen ones stands for all that follow: these
  /// are lighter still.
  std::vector<std::size_t> stand_ins(std::size_t num_seen) const;

 private:
  std::vector<std::size_t> samples_;
};

}  // namespace bitsweep::sweeping
