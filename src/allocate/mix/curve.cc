#include "allocate/mix/curve.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "allocate/budget/descent.h"
#include "allocate/mix/correction.h"
#include "allocate/mix/least_harm.h"
#include "allocate/mix/quality.h"

namespace bitsweep::allocate {
namespace {

/// The curve while points are added: what a user gets at each cost that was tried.
class Staircase {
 public:
  /// `db`: the best that was measured with this cost; nothing for a cost where nothing new was
  /// found.
  void add(double cost, double db = -kMaxDb) {
    const auto [it, is_new] = steps_.emplace(cost, db);
    it->second = std::max(it->second, db);
  }

  /// Middle of the two neighbours with the largest area between them: better configurations can
  /// hide there most. Nothing when there is no area left.
  std::optional<double> widest_gap() const {
    double best_db = -kMaxDb;
    double largest = 0.0;
    std::optional<double> middle;
    for (auto it = steps_.begin(); it != steps_.end(); ++it) {
      const double db = std::max(best_db, it->second);
      if (it != steps_.begin()) {
        const double from = std::prev(it)->first;
        const double area = (it->first - from) * (db - best_db);
        if (area > largest) {
          largest = area;
          middle = from + (it->first - from) / 2.0;
        }
      }
      best_db = db;
    }
    return middle;
  }

 private:
  std::map<double, double> steps_;  // cost, dB
};

bool within(const BudgetProblem& problem, const std::vector<CostLimit>& limits,
            const std::vector<int>& choices) {
  return std::all_of(limits.begin(), limits.end(), [&](const CostLimit& l) {
    return cost_of(problem.costs[static_cast<std::size_t>(l.cost)], choices) <=
           l.at_most * (1.0 + 1e-8);
  });
}

/// Runs `count` more configurations, each in the widest gap of the curve, and learns from them.
void fill_gaps(MixTask& task, const std::vector<CostLimit>& limits, int count, const Tick& tick) {
  constexpr int kRunsByCorrection = 4;
  Staircase curve;
  std::size_t num_seen = 0;
  const auto see_new_runs = [&] {
    for (; num_seen < task.runs().all().size(); ++num_seen) {
      const MeasuredMix& run = task.runs().all()[num_seen].weighted;
      if (within(task.base(), limits, run.choices)) curve.add(task.price(run.choices), run.db);
    }
  };
  std::vector<CostLimit> all = limits;
  all.push_back({task.cost(), 0.0});
  BudgetProblem now;
  for (int i = 0; i < count; ++i) {
    if (i % kRunsByCorrection == 0) now = task.corrected_by_weighted();
    see_new_runs();
    const std::optional<double> cost = curve.widest_gap();
    if (!cost) return;
    curve.add(*cost);
    all.back().at_most = *cost;
    const BudgetSolution point = least_loss(now, all, task.without_bound());
    if (point.feasible()) task.measure(point.choices, now);
    tick("check", i + 1, count);
  }
}

/// Runs the best configuration that is predicted within each of these costs, and the one of least
/// harm.
void meet_costs(MixTask& task, const std::vector<CostLimit>& limits, std::vector<double> costs,
                const Tick& tick) {
  std::vector<CostLimit> all = limits;
  all.push_back({task.cost(), 0.0});
  std::sort(costs.begin(), costs.end());
  int done = 0;
  const BudgetProblem now = task.corrected_by_weighted();
  for (const double cost : costs) {
    all.back().at_most = cost;
    const BudgetSolution point = least_loss(now, all, task.without_bound());
    if (point.feasible()) task.measure(point.choices, now);
    const std::vector<int> harmless = least_harm_within(task.base(), task.cost(), cost);
    if (!harmless.empty() && within(now, limits, harmless)) task.measure(harmless, now);
    tick("check", ++done, static_cast<std::int64_t>(costs.size()));
  }
}

/// The share of the differences between measured and predicted that is not chance of the samples.
double trust_in_measured(const std::vector<std::pair<double, WholeRun>>& runs, double chance) {
  const auto count = static_cast<double>(runs.size());
  double mean = 0.0;
  for (const auto& [price, run] : runs) mean += (run.weighted.db - run.predicted_db) / count;
  double variance = 0.0;
  for (const auto& [price, run] : runs) {
    const double d = run.weighted.db - run.predicted_db - mean;
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

  fill_gaps(task, limits, task.options().frontier_points, tick);
  meet_costs(task, limits, task.options().frontier_costs, tick);

  const BudgetProblem now = task.corrected_by_weighted();
  const std::vector<MeasuredMix> weighted = task.runs().weighted();
  std::vector<std::pair<double, WholeRun>> runs;  // with their costs
  for (std::size_t i = 0; i < weighted.size(); ++i) {
    const WholeRun& run = task.runs().all()[i];
    if (!within(now, limits, run.measured.choices)) continue;
    WholeRun& known = runs.emplace_back(task.price(run.measured.choices), run).second;
    known.predicted_db = db_of(loss_of(now, run.measured.choices));
    known.weighted = weighted[i];
  }
  const double trust = trust_in_measured(runs, chance_of(weighted));
  for (auto& [price, run] : runs)
    run.expected_db = run.predicted_db + trust * (run.weighted.db - run.predicted_db);
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
