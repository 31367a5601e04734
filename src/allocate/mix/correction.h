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
/// Ridge regression of the differences on the choices: a choice may be wrong in proportion to its
/// own loss, so the large terms that the wrongly predicted configurations share move most. How
/// much of the interactions holds in whole configurations is decided by the measured ones, too:
/// each is predicted from the others (leave one out).
BudgetProblem corrected(const BudgetProblem& problem, const std::vector<MeasuredMix>& measured);

}  // namespace bitsweep::allocate
