#pragma once

#include <optional>
#include <vector>

#include "bitsweep/budget.h"

namespace bitsweep::allocate {

/// What HiGHS found.
struct HighsAnswer {
  std::vector<int> choices;  ///< empty: none found
  double bound = 0.0;        ///< no answer is below
  bool infeasible = false;   ///< proven
  bool optimal = false;      ///< proven within the gap
};

/// Minimises `objective` (its rows[0] and pairs; one row) under the limits and, when `loss_limit`
/// is set, a loss of at most that. Losses must add up. `start`: a configuration that fits, or
/// empty. Absent when there is no library. @throws Error(kRuntime) when HiGHS reports a failure.
std::optional<HighsAnswer> solve_with_highs(
    const BudgetProblem& problem, const CostTable& objective, const std::vector<CostLimit>& limits,
    std::optional<double> loss_limit, const std::vector<int>& start, const BudgetOptions& options);

/// The losses in the form of a cost.
CostTable loss_table(const BudgetProblem& problem);

}  // namespace bitsweep::allocate
