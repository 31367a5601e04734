#include "allocate/mix/least_harm.h"

#include <algorithm>
#include <utility>

#include "allocate/budget/descent.h"

namespace bitsweep::allocate {
namespace {

struct Change {
  double loss;
  std::size_t group;
  int choice;
};

std::vector<Change> changes_by_loss(const BudgetProblem& problem) {
  std::vector<Change> changes;
  for (std::size_t g = 0; g < problem.loss.size(); ++g) {
    for (std::size_t c = 0; c < problem.loss[g].size(); ++c)
      changes.push_back({problem.loss[g][c], g, static_cast<int>(c)});
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.loss < b.loss; });
  return changes;
}

}  // namespace

std::vector<int> least_harm_within(const BudgetProblem& problem, int cost, double at_most) {
  const CostTable& table = problem.costs[static_cast<std::size_t>(cost)];
  std::vector<int> choices = best_choices(problem);
  double price = cost_of(table, choices);
  for (const Change& change : changes_by_loss(problem)) {
    if (price <= at_most * (1.0 + 1e-8)) return choices;
    const int before = std::exchange(choices[change.group], change.choice);
    const double now = cost_of(table, choices);
    if (now <= price) {
      price = now;
    } else {
      choices[change.group] = before;
    }
  }
  return price <= at_most * (1.0 + 1e-8) ? choices : std::vector<int>();
}

}  // namespace bitsweep::allocate
