#include "allocate/mix/curve.h"

#include <algorithm>
#include <utility>

#include "allocate/budget/descent.h"
#include "allocate/mix/correction.h"
#include "allocate/mix/quality.h"

namespace bitsweep::allocate {
namespace {

/// Cheaper than the dearest by these shares of the curve: changes that cost next to nothing.
constexpr double kNearTheEnd[] = {1.0 / 32, 1.0 / 128, 1.0 / 512};

/// Points of the curve as a problem sees it, with more of them near the dear end.
std::vector<std::vector<int>> points_of(const MixTask& task, const BudgetProblem& problem,
                                        const std::vector<CostLimit>& limits) {
  std::vector<std::vector<int>> points;
  for (BudgetSolution& point :
       frontier(problem, task.cost(), limits, task.options().frontier_points))
    points.push_back(std::move(point.choices));
  if (points.empty()) return points;
  const double low = task.price(points.front());
  const double high = task.price(best_choices(task.base()));
  std::vector<CostLimit> near = limits;
  near.push_back({task.cost(), high});
  for (const double share : kNearTheEnd) {
    near.back().at_most = high - share * (high - low);
    BudgetSolution point = least_loss(problem, near, task.without_bound());
    if (point.feasible()) points.push_back(std::move(point.choices));
  }
  return points;
}

/// The share of the differences between measured and predicted that is not chance of the samples.
double trust_in_measured(const std::vector<std::pair<double, WholeRun>>& runs, double chance) {
  const auto count = static_cast<double>(runs.size());
  double mean = 0.0;
  for (const auto& [price, run] : runs) mean += (run.measured.db - run.predicted_db) / count;
  double variance = 0.0;
  for (const auto& [price, run] : runs) {
    const double d = run.measured.db - run.predicted_db - mean;
    variance += kNepersPerDb * kNepersPerDb * d * d / count;
  }
  return variance > chance ? 1.0 - chance / variance : 0.0;
}

}  // namespace

std::vector<WholeRun> make_curve(MixTask& task, const Tick& tick) {
  constexpr int kProbes = 5;
  std::vector<CostLimit> limits;  // of the other costs
  for (const CostLimit& limit : task.limits()) {
    if (limit.cost != task.cost()) limits.push_back(limit);
  }
  BudgetProblem additive = task.base();
  additive.interactions.clear();
  const auto probe = [&](const BudgetProblem& problem) {
    for (const BudgetSolution& point : frontier(problem, task.cost(), limits, kProbes))
      task.measure(point.choices, problem);
  };
  task.measure_uniform();
  probe(additive);
  probe(task.base());
  // The dearest is the end of the curve, whatever cancels in the search samples.
  task.measure(best_choices(task.base()), task.base());

  const BudgetProblem proposing = task.corrected();
  const std::vector<std::vector<int>> points = points_of(task, proposing, limits);
  std::int64_t done = 0;
  for (const std::vector<int>& point : points) {
    task.measure(point, proposing);
    tick("check", ++done, static_cast<std::int64_t>(points.size()));
  }

  const BudgetProblem now = task.corrected();
  std::vector<std::pair<double, WholeRun>> runs;  // with their costs
  for (const WholeRun& run : task.runs().all()) {
    const bool fits = std::all_of(limits.begin(), limits.end(), [&](const CostLimit& l) {
      return cost_of(now.costs[static_cast<std::size_t>(l.cost)], run.measured.choices) <=
             l.at_most * (1.0 + 1e-8);
    });
    if (!fits) continue;
    WholeRun& known = runs.emplace_back(task.price(run.measured.choices), run).second;
    known.predicted_db = db_of(loss_of(now, run.measured.choices));
  }
  const double trust = trust_in_measured(runs, chance_of(task.runs().measured()));
  for (auto& [price, run] : runs)
    run.expected_db = run.predicted_db + trust * (run.measured.db - run.predicted_db);
  std::stable_sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, -a.second.expected_db) < std::pair(b.first, -b.second.expected_db);
  });
  std::vector<WholeRun> curve;
  for (auto& [price, run] : runs) {
    if (curve.empty() || run.expected_db > curve.back().expected_db)
      curve.push_back(std::move(run));
  }
  return curve;
}

}  // namespace bitsweep::allocate
