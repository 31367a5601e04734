#include "allocate/mix/choose.h"

#include <algorithm>
#include <cmath>

#include "allocate/budget/configuration.h"
#include "allocate/budget/descent.h"
#include "allocate/mix/out_of_reach.h"
#include "allocate/mix/quality.h"

namespace bitsweep::allocate {
namespace {

BudgetSolution solve(const MixTask& task, const BudgetProblem& problem, double max_loss) {
  const BudgetOptions quick = task.without_bound();
  return task.wanted_db() ? least_cost(problem, task.cost(), max_loss, task.limits(), quick)
                          : least_loss(problem, task.limits(), quick);
}

/// Of all changes of one or two groups that fit and were not run: the one with the least loss.
std::vector<int> best_neighbour(const MixTask& task, const BudgetProblem& problem,
                                const std::vector<CostLimit>& limits, const std::vector<int>& start,
                                double max_loss) {
  constexpr std::size_t kMaxChoicesForPairs = 1200;
  Configuration x(problem, limits, start);
  std::vector<int> best;
  double least = max_loss;
  const auto look = [&] {
    if (x.loss() > least || !x.fits() || task.runs().find(x.choices()) != nullptr) return;
    least = x.loss();
    best = x.choices();
  };
  const auto for_each_choice = [&](std::size_t g, const auto& visit) {
    const int old = x.choice(g);
    for (int c = 0; c < static_cast<int>(problem.loss[g].size()); ++c) {
      if (c == old) continue;
      x.set(g, c);
      visit();
    }
    x.set(g, old);
  };
  const bool pairs = problem.num_choices() <= kMaxChoicesForPairs;
  for (std::size_t g = 0; g < start.size(); ++g) {
    for_each_choice(g, [&] {
      look();
      for (std::size_t h = g + 1; pairs && h < start.size(); ++h) for_each_choice(h, look);
    });
  }
  return best;
}

/// Runs what is predicted best among the changes of one or two groups of the best configuration,
/// until some in a row bring nothing.
void try_neighbours(MixTask& task) {
  int num_in_vain = 0;
  for (const WholeRun* best = task.best();
       best != nullptr && num_in_vain < task.options().max_rounds;) {
    std::vector<CostLimit> limits = task.limits();
    // A quality is reached already; from here on only cheaper ones count.
    if (task.wanted_db())
      limits.push_back({task.cost(), task.price(best->measured.choices) * (1.0 - 1e-6)});
    const BudgetProblem now = task.corrected();
    const double max_loss = task.wanted_db() ? loss_of_db(*task.wanted_db()) : INFINITY;
    const std::vector<int> next =
        best_neighbour(task, now, limits, best->measured.choices, max_loss);
    if (next.empty()) return;
    task.measure(next, now);
    num_in_vain = task.best() == best ? num_in_vain + 1 : 0;
    best = task.best();
  }
}

}  // namespace

MixChoice choose(MixTask& task, const MixGroups& groups) {
  MixChoice choice;
  const BudgetSolution top = least_loss(task.base(), task.limits(), task.without_bound());
  if (!top.feasible()) {
    choice.infeasible = top.infeasible;
    return choice;
  }
  const std::optional<double> wanted = task.wanted_db();
  if (wanted) {
    task.measure(top.choices, task.base());
    // Interactions may cancel on the search samples alone: the best of each group cannot hide.
    const std::vector<int> dearest = best_choices(task.base());
    if (task.within_limits(dearest)) task.measure(dearest, task.base());
  }
  // A margin in the loss, learnt from configurations that missed the quality.
  double margin = 1.0;
  for (int round = 1; round <= task.options().max_rounds; ++round) {
    choice.rounds = round;
    const BudgetProblem now = task.corrected();
    const BudgetSolution found = solve(task, now, wanted ? loss_of_db(*wanted) * margin : 0.0);
    if (!found.feasible()) break;
    const bool seen = task.runs().find(found.choices) != nullptr;
    const WholeRun& run = task.measure(found.choices, now);
    const double predicted = db_of(loss_of(now, found.choices));
    const bool agrees = std::abs(predicted - run.measured.db) <= task.options().tolerance_db;
    const bool meets = !wanted || run.measured.db >= *wanted;
    if (meets && (agrees || seen)) break;
    if (!meets) margin *= loss_of_db(std::max(0.02, *wanted - run.measured.db));
  }
  // Only now: whether prediction and measurement agree is a matter of the solver's answers.
  task.measure_uniform();
  try_neighbours(task);
  choice.run = task.best();
  choice.agreed =
      choice.run != nullptr &&
      std::abs(choice.run->predicted_db - choice.run->measured.db) <= task.options().tolerance_db;
  if (choice.run == nullptr) choice.infeasible = why_out_of_reach(task, groups);
  return choice;
}

}  // namespace bitsweep::allocate
