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

/// Leaves the nearest optimum: changes a few groups by a fixed sequence of random numbers, descends
/// and improves again, and keeps what is better. `count` times.
void shake(const BudgetProblem& problem, Configuration& configuration, bool exchange, int count);

}  // namespace bitsweep::allocate
