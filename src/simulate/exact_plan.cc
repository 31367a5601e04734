#include "simulate/exact_plan.h"

#include <memory>

#include "base/parallel_for.h"

namespace bitsweep::simulate {
namespace {

// New plans put cuts elsewhere, which need a look, too; few networks need more than two rounds.
constexpr int kMaxRounds = 5;
// Work that exactness may cost, beside that of the unrestricted plan.
constexpr double kPriceOfExactness = 1.2;

/// Suffixes (indices) that differ from the float pass.
std::vector<int> inexact_suffixes(Engine& engine, const Feed& feed, int num_threads) {
  const std::shared_ptr<Sample> sample = engine.open_sample(feed);
  std::vector<char> exact(static_cast<std::size_t>(engine.num_suffixes()), 0);
  parallel_for(exact.size(), num_threads, [&](std::size_t i) {
    exact[i] = engine.repeats_float_pass(*sample, static_cast<int>(i)) ? 1 : 0;
  });
  std::vector<int> inexact;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (exact[i] == 0) inexact.push_back(static_cast<int>(i));
  }
  return inexact;
}

}  // namespace

CutPlan set_exact_plan(Engine& engine, const std::vector<State>& states, const Feed& feed,
                       const CutPlanOptions& options, int num_threads) {
  CutPlanOptions allowed = options;
  CutPlan plan = plan_cuts(engine, states, allowed);
  const double most = kPriceOfExactness * plan.cost_per_sample;
  for (int round = 0;; ++round) {
    engine.set_plan(plan.engine);
    const std::vector<int> inexact = inexact_suffixes(engine, feed, num_threads);
    if (inexact.empty() || round == kMaxRounds) return plan;
    const Cuts& cuts = plan.engine.cuts;
    for (const int suffix : inexact) {
      // One that finishes only a part of the network goes with its cut.
      const auto i = static_cast<std::size_t>(suffix);
      const auto cut =
          i < cuts.size()
              ? i
              : static_cast<std::size_t>(plan.engine.partial_suffixes[i - cuts.size()].first);
      allowed.refused.insert(cuts[cut]);
    }
    CutPlan next = plan_cuts(engine, states, allowed);
    if (next.cost_per_sample > most) return plan;
    plan = std::move(next);
  }
}

}  // namespace bitsweep::simulate
