#pragma once

#include <string>

#include "allocate/mix/mix_groups.h"
#include "allocate/mix/mix_task.h"

namespace bitsweep::allocate {

/// How the search for one configuration ended.
struct MixChoice {
  std::string
      infeasible;  ///< why nothing was found that meets the targets; empty: task.best() is it
  int rounds = 0;
};

/// Runs the cheapest configuration within the limits, of which costs alone are known; null when it
/// misses the quality, or none was asked for.
const WholeRun* cheapest_that_is_enough(MixTask& task);

/// Solves, runs the answer, corrects what was predicted wrong, and again, until prediction and
/// measurement agree; then looks around the best one.
MixChoice choose(MixTask& task, const MixGroups& groups);

}  // namespace bitsweep::allocate
