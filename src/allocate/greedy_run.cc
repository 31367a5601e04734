#include "allocate/greedy_run.h"

#include <algorithm>
#include <cmath>

#include "bitsweep/error.h"

namespace bitsweep::allocate {
double checked_score(double score, const char* phase) {
  if (std::isnan(score)) {
    throw Error(ErrorCode::kInvalidData, "mixed precision",
                std::string("the score of ") + phase + " is NaN",
                "return a number from the evaluation function");
  }
  return score;
}

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
  simulation_.apply_exception_rules();
  calibrate();
}

void GreedyRun::calibrate() {
  if (evaluator_.load_encodings()) return;
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
  for (const auto& q : enabled_quantizers(&QuantizerGroup::parameters)) {
    parameters.emplace_back(q, q->snapshot());
    q->set_enabled(false);
  }
  // Without weights to quantize the second calibration would see the same values.
  if (!parameters.empty() && has_enabled()) calibrate();
  for (const auto& [quantizer, snapshot] : parameters) quantizer->restore(*snapshot);
}

std::vector<std::shared_ptr<Quantizer>> GreedyRun::enabled_quantizers(
    std::vector<std::string> QuantizerGroup::* names) const {
  std::vector<std::shared_ptr<Quantizer>> result;
  for (const QuantizerGroup& group : settings_.groups()) {
    for (const std::string& t : group.*names) {
      std::shared_ptr<Quantizer> q = simulation_.quantizer(t);
      // Tied tensors share one.
      const bool is_new = std::find(result.begin(), result.end(), q) == result.end();
      if (q->enabled() && is_new) result.push_back(std::move(q));
    }
  }
  return result;
}

void GreedyRun::calibrate_apart() {
  const auto parameters = enabled_quantizers(&QuantizerGroup::parameters);
  const auto activations = enabled_quantizers(&QuantizerGroup::activations);
  for (const auto& q : parameters) q->set_enabled(false);
  if (has_enabled()) calibrate();
  for (const auto& q : activations) q->set_enabled(false);
  for (const auto& q : parameters) q->set_enabled(true);
  simulation_.begin_calibration();
  try {
    simulation_.finish_calibration();  // weights need no samples
  } catch (...) {
    simulation_.abort_calibration();
    throw;
  }
  for (const auto& q : activations) q->set_enabled(true);
}

bool GreedyRun::has_enabled() const {
  for (const std::string& name : simulation_.tensor_names()) {
    if (simulation_.quantizer(name)->enabled()) return true;
  }
  return false;
}

double GreedyRun::score_phase1() { return checked_score(evaluator_.score_phase1(), "phase 1"); }

double GreedyRun::score_phase2() {
  ++num_phase2_scores_;
  return checked_score(evaluator_.score_phase2(), "phase 2");
}

}  // namespace bitsweep::allocate
