#include "simulate/reuse/exact_plan.h"

#include <memory>
#include <utility>

#include "base/parallel_for.h"
#include "simulate/reuse/feed_digest.h"

namespace bitsweep::simulate {
namespace {

// New plans put cuts elsewhere, which need a look, too; few networks need more than two rounds.
constexpr int kMaxRounds = 5;
// Work that exactness may cost, beside that of the unrestricted plan.
constexpr double kPriceOfExactness = 1.2;

/// Looks which suffixes of the evaluator's plan repeat the float pass of one sample.
class ExactnessCheck {
 public:
  ExactnessCheck(Evaluator& evaluator, const Feed& feed, int num_threads)
      : evaluator_(evaluator), feed_(feed), num_threads_(num_threads) {}

  /// Suffixes (indices) that differ. Those that repeated it under an earlier plan are believed to
  /// do so again.
  std::vector<int> inexact_suffixes() {
    std::vector<int> unknown;
    for (int i = 0; i < evaluator_.split().num_suffixes(); ++i) {
      if (exact_.count(part(i)) == 0) unknown.push_back(i);
    }
    return differing(unknown);
  }

  /// Looks at those that were believed, so that the evaluator knows of all what holds under its
  /// plan.
  void confirm() {
    std::vector<int> all;
    for (int i = 0; i < evaluator_.split().num_suffixes(); ++i) all.push_back(i);
    differing(all);
  }

 private:
  using Part = std::pair<int, std::vector<graph::TensorId>>;

  Part part(int suffix) const {
    const Suffix& looked_at = evaluator_.split().suffix(suffix);
    return {looked_at.begin, looked_at.changed};
  }

  std::vector<int> differing(const std::vector<int>& suffixes) {
    if (suffixes.empty()) return {};
    const std::shared_ptr<Sample> sample = evaluator_.open_sample(feed_);
    std::vector<char> exact(suffixes.size(), 0);
    parallel_for(exact.size(), num_threads_, [&](std::size_t i) {
      exact[i] = evaluator_.repeats_float_pass(*sample, suffixes[i]) ? 1 : 0;
    });
    std::vector<int> different;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      if (exact[i] != 0) {
        exact_.insert(part(suffixes[i]));
      } else {
        different.push_back(suffixes[i]);
      }
    }
    return different;
  }

  Evaluator& evaluator_;
  const Feed& feed_;
  int num_threads_;
  std::set<Part> exact_;
};

}  // namespace

CutPlan ExactPlanner::find(const std::vector<State>& states, const Feed& feed,
                           const CutPlanOptions& options, int num_threads) {
  ExactnessCheck check(evaluator_, feed, num_threads);
  CutPlanOptions allowed = options;
  CutPlan plan = plan_cuts(network_, shapes_, states, allowed);
  const double most = kPriceOfExactness * plan.cost_per_sample;
  for (int round = 0;; ++round) {
    evaluator_.set_plan(plan.evaluation);
    const std::vector<int> inexact = check.inexact_suffixes();
    if (inexact.empty() || round == kMaxRounds) break;
    const Cuts& cuts = plan.evaluation.cuts;
    for (const int suffix : inexact) {
      // One that finishes only a part of the network goes with its cut.
      const auto i = static_cast<std::size_t>(suffix);
      const auto cut =
          i < cuts.size()
              ? i
              : static_cast<std::size_t>(plan.evaluation.partial_suffixes[i - cuts.size()].first);
      allowed.refused.insert(cuts[cut]);
    }
    CutPlan next = plan_cuts(network_, shapes_, states, allowed);
    if (next.cost_per_sample > most) break;
    plan = std::move(next);
  }
  check.confirm();
  plan.evaluation.repeated_bits = evaluator_.repeated_bits();
  return plan;
}

CutPlan ExactPlanner::set_plan(const std::vector<State>& states, const Feed& feed,
                               const CutPlanOptions& options, int num_threads) {
  std::string sample = digest_of(feed);
  if (found_ != nullptr && found_->states == states && found_->options == options &&
      found_->sample == sample) {
    evaluator_.set_plan(found_->plan.evaluation);
    work_.add(found_->cost, found_->num_runs);
    return found_->plan;
  }
  const std::int64_t runs_before = work_.num_runs();
  const double cost_before = work_.forward_equivalents();
  CutPlan plan = find(states, feed, options, num_threads);
  found_ = std::make_shared<const FoundPlan>(
      FoundPlan{.states = states,
                .options = options,
                .sample = std::move(sample),
                .plan = std::move(plan),
                .num_runs = work_.num_runs() - runs_before,
                .cost = work_.forward_equivalents() - cost_before});
  return found_->plan;
}

}  // namespace bitsweep::simulate
