#pragma once

#include <vector>

#include "bitsweep/budget.h"

namespace bitsweep::allocate {

/// A configuration that was run, with the loss it really had.
struct MeasuredMix {
  std::vector<int> choices;
  double loss = 0.0;
};

/// The problem with its losses moved so that it predicts what was measured.
///
/// Ridge regression of the differences on the choices: what a choice loses beyond the best one of
/// its group may be wrong in proportion to itself, so the large terms that the wrongly predicted
/// configurations share move most. What all choices of a group lose decides nothing. How
/// much of the interactions holds in whole configurations is decided by the measured ones, too:
/// each is predicted from the others (leave one out). A factor of all losses comes first, since
/// errors of a whole network grow or saturate together.
///
/// `chance`: variance that measured losses have against each other, as shares of themselves. The
/// more chance there is in them, the less they move.
BudgetProblem corrected(const BudgetProblem& problem, const std::vector<MeasuredMix>& measured,
                        double chance);

}  // namespace bitsweep::allocate
