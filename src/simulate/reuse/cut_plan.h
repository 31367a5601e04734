#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "simulate/network/shapes.h"
#include "simulate/reuse/evaluation_plan.h"

namespace bitsweep::simulate {

struct CutPlanOptions {
  std::int64_t num_samples = 16;  ///< expected; the price of a session is spread over them
  std::int64_t memory_bytes = 0;  ///< for sessions and the values at cuts; 0: no limit
  int threads_per_run = 1;        ///< of every run
  std::set<int> refused{};        ///< positions where no cut may be

  bool operator==(const CutPlanOptions&) const = default;
};

/// How a set of states will be run, and what that is expected to cost.
struct CutPlan {
  EvaluationPlan evaluation;
  double cost_per_sample = 0.0;  ///< for all states, in float passes
};

/// Chooses the cuts that make all states of one sample cheapest, by dynamic programming over the
/// clean cuts of the graph. With a the cut before a state's first change, b the cut behind its last
/// one and W the cost before a cut:
///
///   cost(state) = span * (W(b) - W(a)) + (1 - W(b)),   and per used cut a float suffix as
///   reference, which most samples can do without,
///
/// and only 1 - W(cut) where a cut takes what the state changes as it is (Change::taken_at),
/// plus the creation of the sessions spread over the samples. Where the sessions of all states do
/// not fit into the memory at the same time, a block of samples runs in step, state by state, so
/// that few sessions are held; they are made anew for the next block, and their creation is spread
/// over this one only. Where several states leave the same few tensors changed at a cut and these
/// reach only part of what lies behind, the part gets a suffix of its own.
CutPlan plan_cuts(const Network& network, const Shapes& shapes, const std::vector<State>& states,
                  const CutPlanOptions& options);

}  // namespace bitsweep::simulate
