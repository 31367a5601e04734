#pragma once

#include <string>
#include <vector>

#include "allocate/mix/encoding_bank.h"
#include "allocate/mix/kept_runs.h"
#include "allocate/mix/mix_groups.h"

namespace bitsweep::allocate {

/// What the search starts from.
struct GroupProblem {
  BudgetProblem problem;
  std::vector<double> sample_weights;  ///< see sample_weight()
  std::vector<std::string> notes;
};

/// @throws Error(kInvalidArgument) when the model has not all outputs that are asked for.
void require_outputs(const Model& model, const MixOptions& options);

/// What choices cost, before anything is known of what they lose.
BudgetProblem problem_of_costs(const Simulation& simulation, const MixGroups& groups,
                               const MixOptions& options, std::vector<std::string>* notes);

/// Measures each choice of each group alone and puts the losses, repaired so that more bits never
/// count as worse, beside the costs. Choices with outputs that are NaN, infinite or of another size
/// leave the groups; the notes name them.
GroupProblem problem_of_groups(Simulation& simulation, EncodingBank& bank, MixGroups& groups,
                               SampleSource& search, const MixOptions& options, KeptRuns& kept,
                               const Tick& tick);

/// Tells the caller's progress function; throws Error(kCancelled) when it says stop.
Tick tick_of(const MixOptions& options);

}  // namespace bitsweep::allocate
