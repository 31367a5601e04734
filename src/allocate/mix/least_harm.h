#pragma once

#include <vector>

#include "bitsweep/budget.h"

namespace bitsweep::allocate {

/// The best choice of each group, changed to others that cost no more in the order of what these
/// lose alone, until the cost is within `at_most`; empty when no number of changes is enough.
///
/// Loss is not weighed against cost, interactions have no say, and what saves nothing changes, too:
/// where predictions differ by less than they are wrong, a solver finds their errors and leaves out
/// small changes that cancel those of others, and this order does not.
std::vector<int> least_harm_within(const BudgetProblem& problem, int cost, double at_most);

}  // namespace bitsweep::allocate
