#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bitsweep/sweep.h"
#include "sweep/answers.h"
#include "sweep/ranking.h"

namespace bitsweep::sweeping {

/// Decides which states an adaptive sweep still spends samples on. All open states have seen the
/// same samples; each round settles some.
class AdaptiveStop {
 public:
  /// `low_first`: a low score is sensitive.
  AdaptiveStop(const AdaptiveOptions& options, std::size_t num_states, bool low_first,
               std::uint64_t seed);

  /// Samples that the open states should have next.
  std::int64_t next_samples() const { return next_samples_; }
  const std::vector<std::size_t>& open() const { return open_; }

  /// Looks at the first `num_samples` answers of the open states.
  void settle(const AnswerTable& answers, const ScoredMetric& metric, std::size_t num_samples);
  /// No samples are left: the open states take the side where they most likely are.
  void finish();

  bool selected(std::size_t state) const { return selected_[state]; }
  /// Of the least certain place.
  double confidence() const { return confidence_; }
  bool settled() const { return settled_; }

 private:
  std::vector<double> membership(const AnswerTable& answers, const ScoredMetric& metric,
                                 std::size_t num_samples) const;

  AdaptiveOptions options_;
  bool low_first_;
  std::uint64_t seed_;
  std::size_t places_left_;  // of the selection, not taken by settled states
  std::int64_t next_samples_;
  std::vector<std::size_t> open_;
  std::vector<double> membership_;  // of the open states, in the last round
  std::vector<bool> selected_;
  double confidence_ = 1.0;
  bool settled_ = true;
};

}  // namespace bitsweep::sweeping
