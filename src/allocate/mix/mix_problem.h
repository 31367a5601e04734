#pragma once

#include <string>
#include <vector>

#include "allocate/mix/encoding_bank.h"
#include "allocate/mix/kept_runs.h"
#include "allocate/mix/mix_groups.h"

namespace bitsweep::allocate {

/// Measures each choice of each group alone and puts the losses, repaired so that more bits never
/// count as worse, beside the costs. Choices with NaN or infinite outputs leave the groups; `notes`
/// names them.
BudgetProblem problem_of_groups(Simulation& simulation, EncodingBank& bank, MixGroups& groups,
                                SampleSource& search, const MixOptions& options, KeptRuns& kept,
                                const Tick& tick, std::vector<std::string>* notes);

/// Tells the caller's progress function; throws Error(kCancelled) when it says stop.
Tick tick_of(const MixOptions& options);

}  // namespace bitsweep::allocate
