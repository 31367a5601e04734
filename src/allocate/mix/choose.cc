#include "allocate/mix/choose.h"

#include <algorithm>
#include <cmath>

#include "allocate/budget/configuration.h"
#include "allocate/budget/descent.h"
#include "allocate/mix/out_of_reach.h"
#include "allocate/mix/quality.h"

namespace bitsweep::allocate {
namespace {

/// What is not at least so much cheaper does not count as better.
constexpr double kShareOfCost = 0.002;

/// The least cost whose predicted loss is within `max_loss`, or the least loss, within limits.
BudgetSolution solve(const MixTask& task, const BudgetProblem& problem,
                     const std::vector<CostLimit>& limits, double max_loss) {
  const BudgetOptions quick = task.without_bound();
  return task.wanted_db() ? least_cost(problem, task.cost(), max_loss, limits, quick)
                          : least_loss(problem, limits, quick);
}

/// Of all changes of one or two groups that fit and were not run: the one with the least loss.
std::vector<int> best_neighbour(const MixTask& task, const BudgetProblem& problem,
                                const std::vector<CostLimit>& limits, const std::vector<int>& start,
                                double max_loss) {
  constexpr std::size_t kMaxChoicesForPairs = 1200;
  Configuration x(problem, limits, start);
  std::vector<int> best;
  double least = max_loss;
  // With one more change.
  const auto look = [&](std::size_t g, int c) {
    const double loss = x.loss() + x.loss_change(g, c);
    if (loss > least || x.excess() + x.excess_change(g, c) > Configuration::kTolerance) return;
    std::vector<int> choices = x.choices();
    choices[g] = c;
    if (task.runs().find(choices) != nullptr) return;
    least = loss;
    best = std::move(choices);
  };
  const auto for_each_change = [&](std::size_t first, const auto& visit) {
    for (std::size_t g = first; g < start.size(); ++g) {
      const int old = x.choice(g);
      for (int c = 0; c < static_cast<int>(problem.loss[g].size()); ++c) {
        if (c != old) visit(g, c);
      }
    }
  };
  for_each_change(0, look);
  if (problem.num_choices() > kMaxChoicesForPairs) return best;
  for_each_change(0, [&](std::size_t g, int c) {
    x.set(g, c);
    for_each_change(g + 1, look);
    x.set(g, start[g]);
  });
  return best;
}

/// What may be better than the best that was measured, predicted within `max_loss`: the solver's
/// answer, else the best change of one or two groups; empty when none of them is new.
std::vector<int> propose(const MixTask& task, const BudgetProblem& problem, const WholeRun& best,
                         double max_loss) {
  std::vector<CostLimit> limits = task.limits();
  // A quality is reached already.
  if (task.wanted_db())
    limits.push_back({task.cost(), task.price(best.measured.choices) * (1.0 - kShareOfCost)});
  const BudgetSolution found = solve(task, problem, limits, max_loss);
  if (found.feasible() && task.runs().find(found.choices) == nullptr) return found.choices;
  return best_neighbour(task, problem, limits, best.measured.choices, max_loss);
}

/// Whether `now` is so much better than `before` that going on like this pays.
bool is_progress(const MixTask& task, const WholeRun& now, const WholeRun& before) {
  constexpr double kDb = 0.02;
  return task.wanted_db() ? task.price(now.measured.choices) <
                                task.price(before.measured.choices) * (1.0 - kShareOfCost)
                          : now.measured.db > before.measured.db + kDb;
}

/// What has to be predicted to find the wanted quality: predictions near the best are as wrong as
/// that of the best itself.
double wanted_prediction_db(const MixTask& task, const BudgetProblem& problem,
                            const WholeRun& best) {
  return *task.wanted_db() + db_of(loss_of(problem, best.measured.choices)) - best.measured.db;
}

/// Runs one proposal after the other, until some in a row bring next to nothing. Predictions are
/// wrong by up to a dB, to both sides: a quality is aimed at from below as well.
void improve(MixTask& task) {
  constexpr double kLowestDb = -1.0;
  constexpr double kStepDb = 0.125;
  double aim_db = 0.0;  // above what has to be predicted
  for (int num_in_vain = 0; num_in_vain < task.options().max_rounds;) {
    const WholeRun* best = task.best();
    if (best == nullptr) return;
    const BudgetProblem now = task.corrected();
    const double wanted_db = task.wanted_db() ? wanted_prediction_db(task, now, *best) : 0.0;
    std::vector<int> next;
    for (; aim_db >= kLowestDb; aim_db -= kStepDb) {
      next =
          propose(task, now, *best, task.wanted_db() ? loss_of_db(wanted_db + aim_db) : INFINITY);
      if (!next.empty() || !task.wanted_db()) break;
    }
    if (next.empty()) return;
    const WholeRun& run = task.measure(next, now);
    num_in_vain = is_progress(task, *task.best(), *best) ? 0 : num_in_vain + 1;
    if (task.wanted_db() && run.measured.db < *task.wanted_db())
      aim_db += std::max(0.02, *task.wanted_db() - run.measured.db);
  }
}

}  // namespace

const WholeRun* cheapest_that_is_enough(MixTask& task) {
  if (!task.wanted_db()) return nullptr;
  const BudgetSolution cheapest =
      least_cost(task.base(), task.cost(), 0.0, task.limits(), task.without_bound());
  if (!cheapest.feasible()) return nullptr;
  const double db = task.runs().look_at(cheapest.choices).db;
  if (db < *task.wanted_db()) return nullptr;
  return &task.runs().measure(cheapest.choices, db);
}

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
    const BudgetSolution found =
        solve(task, now, task.limits(), wanted ? loss_of_db(*wanted) * margin : 0.0);
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
  improve(task);
  if (task.best() == nullptr) choice.infeasible = why_out_of_reach(task, groups);
  return choice;
}

}  // namespace bitsweep::allocate
