#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bitsweep/allocation.h"
#include "bitsweep/budget.h"
#include "bitsweep/export.h"
#include "bitsweep/sample_source.h"
#include "bitsweep/simulation.h"

namespace BITSWEEP_EXPORT bitsweep {

/// What a mix must reach: "sqnr>=35", "bops<=0.6", "bytes<=12MB", "share16<=0.2", "peak<=4MB".
struct MixTarget {
  std::string name;
  bool at_least = false;
  double value = 0.0;
};

/// @throws Error(kInvalidArgument): unknown name, a comparison that makes no sense for it, no
/// number, a value out of range.
MixTarget parse_mix_target(std::string_view text);

/// "W8A16": integers of weights and activations; "float": a group stays in float. After "@" the
/// granularity of the weights, a range estimator, or both: "W4A8@block32", "W4A8@per_channel@mse".
/// @throws Error(kInvalidArgument).
Candidate parse_mix_candidate(std::string_view text);
/// The same the other way round; of other types candidate_text().
std::string mix_candidate_text(const Candidate& candidate);

/// "per_tensor", "per_channel", "block32". @throws Error(kInvalidArgument).
WeightGranularity parse_weight_granularity(std::string_view text);
std::string weight_granularity_text(const WeightGranularity& granularity);
/// As parse_scheme(), and "percentile99.9". @throws Error(kInvalidArgument).
RangeEstimator parse_range_estimator(std::string_view text);
std::string range_estimator_text(const RangeEstimator& estimator);

/// Costs that a mix can be limited by, each with its meaning and unit.
///
/// bops: bit operations (MACs * bits * bits, every product) as share of those of the dearest choice
/// of each group, float32 left aside (it may pass 1 with the candidate float). gbops: the same in
/// units of 10^9. bytes: all weights with their scales, those without quantizer at their own width.
/// share16: share of the MACs with an operand of 16 bits or more. peak: bytes of the activations
/// that are alive at the same time, at worst. latency: milliseconds by the caller's table; only
/// there when MixOptions::latency_table is given.
struct MixCostInfo {
  std::string name;
  std::string summary;
};
const std::vector<MixCostInfo>& mix_costs();

/// Place of a cost in mix_costs(). @throws Error(kInvalidArgument) for an unknown name.
std::size_t mix_cost_index(const std::string& name);

/// Tables of all costs but latency for these groups and choices, in order of mix_costs(). Shapes
/// are those that calibration observed; what a choice leaves open counts as it is set now.
std::vector<CostTable> mix_cost_tables(const Simulation& simulation,
                                       const std::vector<QuantizerGroup>& groups,
                                       const std::vector<std::vector<Candidate>>& choices);

/// What the simulation costs as it is set now, in order of mix_costs() without latency; `bops` is
/// 1.
std::vector<double> present_costs(const Simulation& simulation);

/// How good the chosen configuration is by another measure than the search's.
struct MixCheck {
  std::string name;
  std::string unit;
  double score = 0.0;
  /// The same of the float model; absent for metrics that compare with it.
  std::optional<double> float_score;
};

struct MixProgress {
  /// "calibrate", "measure groups", "measure mixes", "check", "final check"
  std::string stage;
  std::int64_t done = 0;
  std::int64_t total = -1;  ///< -1: not known
};

struct MixOptions {
  std::vector<Candidate> candidates;
  /// With a quality target the cost is minimised, otherwise quality is maximised. None: only the
  /// frontier is computed.
  std::vector<MixTarget> targets;
  std::string cost = "bops";  ///< what is minimised, and the axis of the frontier
  /// Positions of the model's outputs that count, such as the logits of a language model; empty:
  /// all floating-point ones.
  std::vector<int> outputs;
  bool ignore_kernels = false;
  /// Tensors whose groups must have one candidate, such as q, k and v.
  std::vector<std::vector<std::string>> same_format;
  /// Tensor and the candidate of its group.
  std::vector<std::pair<std::string, Candidate>> pinned;
  /// CSV with the times of operators on the target, the cost "latency":
  /// `operator,shape,weights,activations,ms`, "*" for any shape or type. Empty: no such cost.
  std::filesystem::path latency_table;
  /// Metrics of the chosen configuration on the test samples, with their labels where they need
  /// some; see metrics().
  std::vector<std::string> check_metrics;
  /// The caller's own: name, and the score of the simulation as it is set. Called with everything
  /// off, then with the chosen configuration.
  std::vector<std::pair<std::string, std::function<double()>>> own_checks;
  /// Decide weights and activations of a group apart, where the target has kernels for every pair
  /// of types that comes from it.
  bool apart = false;
  int frontier_points = 12;  ///< measured for real; 0 and no frontier_costs: no frontier
  /// The frontier also gets the best configuration found within each of these, in units of `cost`.
  std::vector<double> frontier_costs;
  int max_rounds = 6;          ///< of measuring and correcting
  double tolerance_db = 0.25;  ///< predicted and measured agree within this
  BudgetOptions budget;
  int num_threads = 0;                ///< states evaluated at the same time; 0: one per core
  std::int64_t max_memory_bytes = 0;  ///< for sessions and boundaries; 0: half of the memory
  /// Keeps every run, by content of model, encodings and sample: a killed mix continues with the
  /// next call, and another budget or candidate costs only what is new. Empty: nothing is kept.
  std::filesystem::path run_directory;
  /// Returns true to stop: Error(kCancelled), every quantizer as before.
  std::function<bool(const MixProgress&)> progress;
};

/// One configuration.
struct MixPoint {
  std::vector<Candidate> by_group;
  std::vector<double> costs;  ///< in order of mix_costs(); latency only with a table
  double predicted_db = 0.0;  ///< as of the last correction before it was measured
  double measured_db = 0.0;   ///< on the search samples
  /// On other samples: measured, moved to the prediction as far as the samples disagree about the
  /// difference. The frontier is ordered by it.
  double expected_db = 0.0;
};

struct MixResult {
  std::vector<QuantizerGroup> groups;  ///< merged where quantizers are shared or same_format asks
  std::optional<MixPoint> chosen;
  std::string infeasible;  ///< why nothing was chosen: "the minimum of bops is 0.52"
  /// Cheapest first; dearer ones are expected to be better. May hold more points than asked for:
  /// every configuration that was run and that none beats.
  std::vector<MixPoint> frontier;
  std::optional<double> test_db;  ///< of the chosen configuration on samples that no step saw
  std::vector<MixCheck> checks;   ///< of the chosen configuration, as asked for
  std::optional<double> gap;      ///< of the last solve, by its bound: (loss - bound) / loss
  bool optimal = false;           ///< that solve was proven optimal
  bool agreed = false;            ///< what was chosen is as predicted, within the tolerance
  int rounds = 0;
  int num_measured = 0;            ///< configurations run for real
  std::int64_t num_run = 0;        ///< runs of a state on a sample
  std::int64_t num_kept = 0;       ///< those that the run directory answered
  std::vector<std::string> notes;  ///< choices left out, mixes that give NaN, and why
  double elapsed_s = 0.0;
};

/// Chooses the types of all groups for a cost or a quality, and proves the answer by running it.
///
/// 1. One calibration gives the ranges of every candidate. 2. Each choice of each group runs alone
/// (with prefix reuse); the changes of the outputs give losses and, by their inner products, the
/// interactions; for one answer alone on the samples that hold half of the noise, and not at all
/// where the cheapest configuration reaches the quality. 3. The budget solver chooses; the choice
/// is run for real; what was predicted wrong is corrected; again, until both agree. 4. Each
/// candidate runs in all groups at once: the result is never worse than those that meet the
/// targets. The result is always a measured configuration, and the simulation is left in it,
/// calibrated. Quality is SQNR in dB, of the worst output.
///
/// `test` may be null. @throws Error(kInvalidArgument | kNotReady | kInvalidData | kCancelled);
/// every quantizer is as before then.
MixResult mix(Simulation& simulation, SampleSource& calibration, SampleSource& search,
              SampleSource* test, const MixOptions& options);

/// What mix() lets the budget solver answer, before any correction by measured configurations.
struct MixProblem {
  std::vector<QuantizerGroup> groups;
  std::vector<std::vector<Candidate>> choices;  ///< by group; those of the problem
  BudgetProblem problem;                        ///< loss in units of the float outputs' energy
};

/// The problem alone, for looking at it. Every quantizer is as before in the end.
MixProblem mix_problem(Simulation& simulation, SampleSource& calibration, SampleSource& search,
                       const MixOptions& options);

/// A configuration that was run.
struct MeasuredMix {
  std::vector<int> choices;  ///< by group, of a MixProblem
  double db = 0.0;
  std::vector<double> without_db;  ///< on all samples but one, for each; may be empty
};

/// The problem with its losses moved so that it predicts what was measured: what mix() goes on with
/// after each run.
BudgetProblem corrected_problem(const BudgetProblem& problem,
                                const std::vector<MeasuredMix>& measured);

/// For labels that were given on purpose. @throws Error(kInvalidArgument) when none of these
/// metrics compares with them.
void require_use_of_labels(const std::vector<std::string>& check_metrics);

/// Every `period`-th sample of a source (`held_out`), or all others; the source must outlive it.
std::unique_ptr<SampleSource> split_samples(SampleSource& source, int period, bool held_out);

/// The chosen configuration as JSON: model hash, types by tensor (with granularity and estimator
/// where these were chosen, too), costs, quality. For apply_mix_policy() and for people.
std::string mix_policy_json(const Simulation& simulation, const MixResult& result);

/// Sets the types of a policy, with granularity and estimator; calibrate afterwards.
/// @throws Error(kInvalidData) for text that is no policy, or one of another model; nothing is
/// changed then.
void apply_mix_policy(Simulation& simulation, const std::string& json);

}  // namespace BITSWEEP_EXPORT bitsweep
