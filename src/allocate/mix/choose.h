#pragma once

#include <string>

#include "allocate/mix/mix_groups.h"
#include "allocate/mix/mix_task.h"

namespace bitsweep::allocate {

/// How the search for one configuration ended.
struct MixChoice {
  const WholeRun* run = nullptr;  ///< null: nothing was found that meets the targets
  std::string infeasible;         ///< why
  bool agreed = false;            ///< its prediction and measurement agree within the tolerance
  int rounds = 0;
};

/// Solves, runs the answer, corrects what was predicted wrong, and again, until prediction and
/// measurement agree; then looks around the best one.
MixChoice choose(MixTask& task, const MixGroups& groups);

}  // namespace bitsweep::allocate
