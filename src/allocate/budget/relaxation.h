#pragma once

#include <optional>

#include "bitsweep/budget.h"

namespace bitsweep::allocate {

/// A lower bound of the loss under the limits, from shares of choices instead of whole ones. One
/// limit is kept, the one that matters most; losses that interact are made convex first, which
/// whole choices do not notice, and groups are fixed one after the other until the bound is near
/// the `known` loss of a configuration. Absent when even shares fit no limit.
std::optional<double> relaxed_loss(const BudgetProblem& problem,
                                   const std::vector<CostLimit>& limits, double known,
                                   const BudgetOptions& options);

}  // namespace bitsweep::allocate
