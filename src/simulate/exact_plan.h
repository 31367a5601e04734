#pragma once

#include <vector>

#include "bitsweep/tensor.h"
#include "simulate/cut_plan.h"

namespace bitsweep::simulate {

/// plan_cuts() without the cuts whose float suffix does not repeat the float pass of `feed` to the
/// last bit: there the runtime fused or laid out something else than in the whole network, so that
/// a state's outputs would differ from those of a full run by more than what was quantized. Such
/// cuts stay only where doing without them would cost much more work.
///
/// The plan is set in the engine, with the suffixes' sessions made. `num_threads`: that check
/// suffixes side by side.
CutPlan set_exact_plan(Engine& engine, const std::vector<State>& states, const Feed& feed,
                       const CutPlanOptions& options, int num_threads);

}  // namespace bitsweep::simulate
