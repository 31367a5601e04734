#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bitsweep/tensor.h"
#include "simulate/cut_plan.h"

namespace bitsweep::simulate {

/// A plan, and all that it depends on beside the engine.
struct FoundPlan {
  std::vector<State> states;
  CutPlanOptions options;
  std::string sample;  ///< digest of the feed
  CutPlan plan;
  // What finding it took: counted in each sweep, so that a result does not depend on earlier ones.
  std::int64_t num_runs = 0;
  double cost = 0.0;
};

/// plan_cuts() without the cuts whose float suffix does not repeat the float pass of `feed` to the
/// last bit: there the runtime fused or laid out something else than in the whole network, so that
/// a state's outputs would differ from those of a full run by more than what was quantized. Such
/// cuts stay only where doing without them would cost much more work.
///
/// The plan is set in the engine, with the suffixes' sessions made. `num_threads`: that check
/// suffixes side by side. The engine keeps the last plan: a sweep of the same states that begins
/// with the same sample takes it as it is.
CutPlan set_exact_plan(Engine& engine, const std::vector<State>& states, const Feed& feed,
                       const CutPlanOptions& options, int num_threads);

}  // namespace bitsweep::simulate
