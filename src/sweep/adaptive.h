#pragma once

#include <cstddef>
#include <vector>

#include "bitsweep/sweep.h"
#include "sweep/answers.h"
#include "sweep/ranking.h"
#include "sweep/work_budget.h"

namespace bitsweep::sweeping {

/// @throws Error(kInvalidArgument) for options without meaning.
void check_adaptive_options(const AdaptiveOptions& options);

/// The first metric of an adaptive sweep: how sensitive answers are.
struct Sensitivity {
  ScoredMetric metric;
  bool low_first = true;  ///< a low score is sensitive

  /// Of the answers of a row, each sample counted once; the higher, the more sensitive.
  double of(const AnswerRow& row) const;
  /// Of the first samples, and of one more answer that counts `times`.
  double of(const AnswerRow& row, std::size_t num_samples, const Answer* more = nullptr,
            int times = 0) const;
  /// How far a sensitivity is above another one: in units of the score, or for errors by their
  /// ratio.
  double above(double a, double b) const;
};

/// Decides which states an adaptive sweep still spends samples on: those nearest to the boundary
/// of the decision, as many as the work allows that is left.
///
/// All open states have seen the same samples, the first ones of an order. After each round the
/// number of those that go on falls as the number of samples grows, so that each round costs about
/// the same (successive halving: Karnin, Koren and Somekh 2013, Almost Optimal Exploration in
/// Multi-Armed Bandits).
class AdaptiveStop {
 public:
  /// `costs`: of a state on a sample, in float passes.
  AdaptiveStop(const AdaptiveOptions& options, const Sensitivity& sensitivity,
               std::vector<double> costs, std::size_t num_samples);

  /// Samples that the open states should have next.
  std::size_t next_samples() const { return next_samples_; }
  const std::vector<std::size_t>& open() const { return open_; }

  /// Looks at the answers of the open states, which have next_samples(), and closes those furthest
  /// from the boundary: all of them when these are all samples.
  void settle(const AnswerTable& answers, const WorkBudget& budget);

  /// States that the first round closed as not sensitive.
  const std::vector<std::size_t>& closed_first() const { return closed_first_; }
  /// How sensitive a state must be to belong to the selection when, after the samples of the first
  /// round, it is given `more` answers; `quiet` is what a state without error would give there.
  double bar(const AnswerTable& answers, const Answer& quiet, int more) const;
  /// An open state goes on to the end, whatever it looks like.
  void keep(std::size_t state) { kept_[state] = true; }

  bool selected(std::size_t state) const { return selected_[state]; }
  /// Of the least certain place: how many of the states that ran on all samples have moved by less
  /// than half as much, relative to the boundary, as that state would have to.
  double confidence(const AnswerTable& answers, std::vector<std::size_t> whole) const;

 private:
  /// What one round decided.
  struct Round {
    std::size_t num_samples = 0;
    double boundary = 0.0;
    double nearest = 0.0;  ///< distance of the nearest state that was closed
  };

  std::size_t num_affordable(const std::vector<std::size_t>& nearest_first,
                             const WorkBudget& budget) const;
  Work work_of_rounds(const std::vector<std::size_t>& nearest_first, std::size_t constant) const;
  std::size_t samples_after(std::size_t num_samples) const;
  void close(std::size_t state, bool inside);

  AdaptiveOptions options_;
  Sensitivity sensitivity_;
  std::vector<double> costs_;
  std::size_t num_samples_;
  std::size_t places_left_;  // of the selection, not taken by closed states
  std::size_t next_samples_;
  std::vector<std::size_t> open_;
  std::vector<std::size_t> closed_first_;
  std::size_t last_inside_ = 0;  // in the first round
  std::vector<std::size_t> finalists_;
  std::vector<bool> kept_;
  std::vector<bool> selected_;
  std::vector<Round> rounds_;
};

}  // namespace bitsweep::sweeping
