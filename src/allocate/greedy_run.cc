#include "allocate/greedy_run.h"

#include <cmath>

#include "bitsweep/error.h"

namespace bitsweep::allocate {
namespace {

double checked(double score, const char* phase) {
  if (std::isnan(score)) {
    throw Error(ErrorCode::kInvalidData, "mixed precision",
                std::string("the score of ") + phase + " is NaN",
                "return a number from the evaluation function");
  }
  return score;
}

}  // namespace

GreedyRun::GreedyRun(Simulation& simulation, GreedyEvaluator& evaluator)
    : simulation_(simulation),
      evaluator_(evaluator),
      start_(simulation),
      settings_(simulation, quantizer_groups(simulation)) {}

void GreedyRun::set(const std::vector<GroupChange>& changes) {
  start_.restore();
  for (const GroupChange& change : changes) settings_.set(change);
}

void GreedyRun::configure(const std::vector<GroupChange>& changes) {
  set(changes);
  apply_precision_rules(simulation_);
  calibrate();
}

void GreedyRun::calibrate() {
  simulation_.begin_calibration();
  try {
    evaluator_.run_calibration_samples();
    simulation_.finish_calibration();
  } catch (...) {
    simulation_.abort_calibration();
    throw;
  }
}

void GreedyRun::calibrate_for_isolation() {
  calibrate();
  std::vector<std::pair<std::shared_ptr<Quantizer>, std::shared_ptr<const Quantizer::Snapshot>>>
      parameters;
  for (const QuantizerGroup& group : groups()) {
    for (const std::string& t : group.parameters) {
      std::shared_ptr<Quantizer> q = simulation_.quantizer(t);
      if (!q->enabled()) continue;
      parameters.emplace_back(q, q->snapshot());
      q->set_enabled(false);
    }
  }
  // Without weights to quantize the second calibration would see the same values.
  if (!parameters.empty() && has_enabled()) calibrate();
  for (const auto& [quantizer, snapshot] : parameters) quantizer->restore(*snapshot);
}

bool GreedyRun::has_enabled() const {
  for (const std::string& name : simulation_.tensor_names()) {
    if (simulation_.quantizer(name)->enabled()) return true;
  }
  return false;
}

double GreedyRun::score_phase1() { return checked(evaluator_.score_phase1(), "phase 1"); }

double GreedyRun::score_phase2() {
  ++num_phase2_scores_;
  return checked(evaluator_.score_phase2(), "phase 2");
}

}  // namespace bitsweep::allocate
