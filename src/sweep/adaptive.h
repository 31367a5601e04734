#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bitsweep/sweep.h"
#include "sweep/answers.h"
#include "sweep/certainty.h"
#include "sweep/pilot_misses.h"
#include "sweep/ranking.h"
#include "sweep/sample_order.h"

namespace bitsweep::sweeping {

/// @throws Error(kInvalidArgument) for options without meaning.
void check_adaptive_options(const AdaptiveOptions& options);

/// Decides which states an adaptive sweep still spends samples on: those whose place in the ranking
/// that all samples would give is not sure yet. All open states have seen the same samples, the
/// first ones of an order; each round settles some.
class AdaptiveStop {
 public:
  /// `low_first`: a low score is sensitive.
  AdaptiveStop(const AdaptiveOptions& options, std::size_t num_states, bool low_first,
               std::uint64_t seed, const SampleOrder& order, const PilotMisses& misses);

  /// Samples that the open states should have next.
  std::size_t next_samples() const { return next_samples_; }
  const std::vector<std::size_t>& open() const { return open_; }

  /// Looks at the first `num_samples` answers of the open states; settles all of them when these
  /// are all samples.
  void settle(const AnswerTable& answers, const ScoredMetric& metric, std::size_t num_samples);

  bool selected(std::size_t state) const { return selected_[state]; }
  /// Of the least certain place: how often draws agree on it, and how often an estimate as certain
  /// as this one was right on the pilots.
  double confidence() const { return confidence_; }
  /// False: some places are those of these samples, but others may give other ones.
  bool settled() const { return settled_; }

 private:
  /// Where the draws put one open state.
  struct Place {
    double share = 0.0;   ///< of the draws in which it belongs to the selection
    double rank = 0.0;    ///< mean; 0: the most sensitive one
    double gap = 0.0;     ///< mean distance to the boundary of the selection, > 0: inside
    double spread = 0.0;  ///< standard deviation of that distance

    bool inside() const { return share > 0.5; }
    /// In standard deviations.
    double gap_in_spreads() const;
  };

  std::vector<Place> places(const Bootstrap& bootstrap) const;
  std::vector<bool> nearest_to_boundary(const std::vector<Place>& places) const;

  AdaptiveOptions options_;
  bool low_first_;
  std::uint64_t seed_;
  const SampleOrder& order_;
  const PilotMisses& misses_;
  std::size_t
      num_nearest_;  // on either side of the boundary: never settled by a part of the samples
  std::size_t places_left_;  // of the selection, not taken by settled states
  std::size_t next_samples_;
  std::vector<std::size_t> open_;
  std::vector<bool> selected_;
  double confidence_ = 1.0;
  bool settled_ = true;
};

}  // namespace bitsweep::sweeping
