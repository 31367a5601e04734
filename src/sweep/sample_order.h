#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bitsweep/metric.h"
#include "sweep/certainty.h"

namespace bitsweep::sweeping {

/// In which order an adaptive sweep looks at the samples, and what the first of them say about all.
///
/// Errors have heavy tails: a few samples may carry almost all of the squared error, and a ranking
/// from others says nothing. A few states that run on every sample, the pilots, show which those
/// are. The heavy ones come first and stand for themselves alone (Sarndal et al. 1992, Model
/// Assisted Survey Sampling: a stratum that is taken as a whole); the others, in random order,
/// stand for each other too.
class SampleOrder {
 public:
  /// `pilots`: sums of each pilot on every sample, at least one. A sample's weight is how far the
  /// score of a pilot moves when it is left out, as share of what all samples move it; the largest
  /// share counts.
  SampleOrder(const MetricAccumulator& metric, const std::vector<SampleSums>& pilots,
              std::uint64_t seed);

  std::size_t size() const { return samples_.size(); }
  /// Samples, from the first one on, that weigh much more than an average one.
  std::size_t num_heavy() const { return num_heavy_; }
  /// As many of them as every group can afford to start on.
  std::size_t num_certain() const { return num_certain_; }
  /// Number in the source of the sample at a place in the order.
  std::size_t sample(std::size_t place) const { return samples_[place]; }

  /// As many places as there are samples, taken from the first `num_seen` ones: what the whole set
  /// is expected to look like.
  std::vector<std::size_t> stand_ins(std::size_t num_seen) const;

  /// Sets that the whole one may turn out to be: the samples seen, and the others drawn from them.
  Draws possible_sets(std::size_t num_seen, std::uint64_t seed) const;

 private:
  std::size_t first_stand_in(std::size_t num_seen) const;

  std::vector<std::size_t> samples_;
  std::size_t num_heavy_ = 0;
  std::size_t num_certain_ = 0;
};

}  // namespace bitsweep::sweeping
