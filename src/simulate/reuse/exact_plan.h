#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulate/reuse/cut_plan.h"
#include "simulate/reuse/evaluator.h"

namespace bitsweep::simulate {

/// A plan, and all that it depends on beside the network.
struct FoundPlan {
  std::vector<State> states;
  CutPlanOptions options;
  std::string sample;  ///< digest of the feed
  CutPlan plan;
  // What finding it took: counted in each sweep, so that a result does not depend on earlier ones.
  std::int64_t num_runs = 0;
  double cost = 0.0;
};

/// plan_cuts() without the cuts whose float suffix does not repeat the float pass to the last bit:
/// there the runtime fused or laid out something else than in the whole network, so that a state's
/// outputs would differ from those of a full run by more than what was quantized. Such cuts stay
/// only where doing without them would cost much more work.
class ExactPlanner {
 public:
  ExactPlanner(const Network& network, const Shapes& shapes, Evaluator& evaluator,
               WorkCounter& work)
      : network_(network), shapes_(shapes), evaluator_(evaluator), work_(work) {}

  /// Finds the plan that is exact for this sample and sets it in the evaluator, with the suffixes'
  /// sessions made. `num_threads`: that check suffixes side by side. The last plan is kept: a sweep
  /// of the same states that begins with the same sample takes it as it is.
  CutPlan set_plan(const std::vector<State>& states, const Feed& feed,
                   const CutPlanOptions& options, int num_threads);

  /// The last plan; null before there is one.
  const std::shared_ptr<const FoundPlan>& found() const { return found_; }

 private:
  CutPlan find(const std::vector<State>& states, const Feed& feed, const CutPlanOptions& options,
               int num_threads);

  const Network& network_;
  const Shapes& shapes_;
  Evaluator& evaluator_;
  WorkCounter& work_;
  std::shared_ptr<const FoundPlan> found_;
};

}  // namespace bitsweep::simulate
