#pragma once

#include "allocate/budget/configuration.h"

namespace bitsweep::allocate {

/// The configuration with the least loss of each group on its own.
std::vector<int> best_choices(const BudgetProblem& problem);

/// Takes the move with the least loss per excess removed until everything fits or nothing helps.
void descend(const BudgetProblem& problem, Configuration& configuration);

/// Lowers the loss by changes of one group and, when `exchange` is set, of two, staying within the
/// limits.
void improve(const BudgetProblem& problem, Configuration& configuration, bool exchange);

}  // namespace bitsweep::allocate
