#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "allocate/group_settings.h"
#include "bitsweep/allocation.h"

namespace bitsweep::allocate {

/// The score. @throws Error(kInvalidData) when it is NaN.
double checked_score(double score, const char* phase);

/// A simulation under a greedy search: configurations are set, calibrated and scored here.
class GreedyRun {
 public:
  GreedyRun(Simulation& simulation, GreedyEvaluator& evaluator);

  GroupSettings& settings() { return settings_; }
  const std::vector<QuantizerGroup>& groups() const { return settings_.groups(); }

  /// All settings as they were at the start, then the changes in their order.
  void set(const std::vector<GroupChange>& changes);
  /// set(), the rules that go with it, and a calibration: ready to be scored and kept.
  void configure(const std::vector<GroupChange>& changes);
  void calibrate();
  /// Ranges of activations that were observed in front of float weights, encodings of weights from
  /// a full calibration: what a group sees when it is quantized alone.
  void calibrate_for_isolation();

  /// The same, but encodings of weights that no activation has a say in.
  void calibrate_apart();

  double score_phase1();
  double score_phase2();
  std::int64_t num_phase2_scores() const { return num_phase2_scores_; }
  GreedyEvaluator& evaluator() { return evaluator_; }

  /// Puts every quantizer back to the start.
  void restore() { start_.restore(); }

 private:
  bool has_enabled() const;
  std::vector<std::shared_ptr<Quantizer>> enabled_quantizers(
      std::vector<std::string> QuantizerGroup::* names) const;

  Simulation& simulation_;
  GreedyEvaluator& evaluator_;
  SavedSettings start_;
  GroupSettings settings_;
  std::int64_t num_phase2_scores_ = 0;
};

/// Scores each of these groups alone, everything else off; `use` gets (group, score) as they come.
void score_alone(GreedyRun& run, const std::vector<int>& groups,
                 const std::function<void(int, double)>& use);

/// Least harmful change first: score, then bits, then bit operations saved, then group.
void sort_entries(std::vector<GreedyEntry>& entries);

/// Scores every group alone in every supported candidate but the baseline. `known` entries are
/// taken over; the others are handed to the evaluator as they come.
std::vector<GreedyEntry> sensitivity_list(GreedyRun& run, const SupportedCandidates& supported,
                                          const Candidate& baseline,
                                          const std::vector<GroupChange>& baseline_mapping,
                                          const BitOperations& cost, bool share_calibration,
                                          std::vector<GreedyEntry> known);

}  // namespace bitsweep::allocate
