#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bitsweep/metric.h"
#include "bitsweep/sweep.h"

namespace bitsweep::sweeping {

/// Sums of one state, one entry per sample.
using SampleSums = std::vector<std::vector<double>>;

/// Sets of samples, by position; one may occur several times.
using Draws = std::vector<std::vector<std::size_t>>;

/// Percentiles of 2.5% need a few draws beyond them; more draws only steady the last digit.
inline constexpr std::size_t kNumDraws = 200;

/// Sets of the same size, drawn with replacement. Source: Efron 1979, Bootstrap Methods: Another
/// Look at the Jackknife.
Draws resampled(const std::vector<std::size_t>& from, std::uint64_t seed);

/// Scores of all states on resampled sets of samples: the same draws for every state, so that
/// differences between states can be read off draw by draw. Works for any metric, also those that
/// are no mean over samples.
class Bootstrap {
 public:
  /// `states[s]` holds the same number (at least 2) of samples for every s.
  Bootstrap(const MetricAccumulator& metric, const std::vector<SampleSums>& states,
            std::uint64_t seed);
  /// On given sets.
  Bootstrap(const MetricAccumulator& metric, const std::vector<SampleSums>& states,
            const Draws& draws);

  std::size_t num_draws() const { return scores_.empty() ? 0 : scores_.front().size(); }
  double score(std::size_t state, std::size_t draw) const { return scores_[state][draw]; }
  /// Standard error and 95% percentile interval of a state's score.
  ScoreInterval interval(std::size_t state) const;
  /// Whether the draws leave the order of two states open: each is ahead in more than 2.5% of them.
  bool tied(std::size_t a, std::size_t b) const;

 private:
  std::vector<std::vector<double>> scores_;  // by state, by draw
};

}  // namespace bitsweep::sweeping
