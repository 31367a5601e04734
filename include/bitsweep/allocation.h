#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/budget.h"
#include "bitsweep/calibration.h"
#include "bitsweep/export.h"
#include "bitsweep/format.h"
#include "bitsweep/simulation.h"

namespace BITSWEEP_EXPORT bitsweep {

/// How many encodings each weight of a group has.
struct WeightGranularity {
  enum class Kind { kPerTensor, kPerChannel, kBlock };
  Kind kind = Kind::kPerTensor;
  int block_size = 0;  ///< input channels that share an encoding; only for kBlock

  bool operator==(const WeightGranularity&) const = default;
};

/// Gives all weights a granularity; drops what was calibrated. Names those that keep theirs because
/// the block size does not divide their input channels; biases and what else has no such axis keep
/// theirs as well. @throws Error(kInvalidArgument) when no weight can have it; nothing is changed.
std::vector<std::string> set_weight_granularity(Simulation& simulation,
                                                const WeightGranularity& granularity);

/// How the ranges of a group's weights and activations are estimated.
struct RangeEstimator {
  Scheme scheme = Scheme::kMinMax;
  double percentile = 100.0;  ///< percent; only for kPercentile

  bool operator==(const RangeEstimator&) const = default;
};

/// What a quantizer group may become.
struct Candidate {
  Format activation;
  std::optional<Format> parameter;  ///< absent: for groups whose kernels have no parameters
  /// Absent: as the quantizers are set. Activations are always per tensor. Only mix() takes it.
  std::optional<WeightGranularity> granularity = std::nullopt;
  /// Absent: as the quantizers are set. Only mix() takes it.
  std::optional<RangeEstimator> estimator = std::nullopt;

  bool operator==(const Candidate&) const = default;
};

/// "int16/int8": activation, then parameter; "int8/int4@block32@mse" with granularity and
/// estimator.
std::string candidate_text(const Candidate& candidate);

/// Quantizers that change their type together: an activation and the weights it is multiplied by.
struct QuantizerGroup {
  std::vector<std::string> activations;  ///< tensor names, sorted
  std::vector<std::string> parameters;   ///< tensor names, sorted

  bool operator==(const QuantizerGroup&) const = default;
};

/// What messages and files call a group: its first activation, or its first parameter.
const std::string& group_name(const QuantizerGroup& group);

/// Groups of the enabled quantizers, sorted by name; each one is in exactly one group.
///
/// The inputs of an operator with a quantized parameter, seen through Reshape, Transpose and the
/// like, form one group together with the parameters; all other quantizers are on their own.
std::vector<QuantizerGroup> quantizer_groups(const Simulation& simulation);

/// What the simulation's rules list as `supported_kernels`: by operator type, and under "defaults"
/// for all others; empty when they restrict nothing.
std::map<std::string, std::vector<Candidate>> supported_kernels(const Simulation& simulation);

/// What the target's kernels leave of the candidates.
struct SupportedCandidates {
  std::vector<std::vector<Candidate>> by_group;  ///< most bits first; user's order without kernels
  std::vector<Candidate> options;  ///< candidates that some group can take whole, in user's order
};

/// Filters candidates by the `supported_kernels` of the simulation's rules; duplicates count once.
/// @throws Error(kInvalidArgument) without candidates and when a group is left with nothing (names
/// the operator type).
SupportedCandidates supported_candidates(const Simulation& simulation,
                                         const std::vector<QuantizerGroup>& groups,
                                         const std::vector<Candidate>& candidates,
                                         bool ignore_kernels = false);

/// Which operators a count of bit operations includes.
enum class BitOpsCounting {
  /// Every product of two operands, weights or not, over the whole sample.
  kEveryProduct,
  /// As the reference counts: Conv and Gemm only; weight elements times the last two dimensions of
  /// the output (a matrix counts as 1 by 1), whatever the batch.
  kReference,
};

/// Bits of a type in a bit-operation count; a float counts sqrt(1.5) times its width.
/// Source: spec of the reference, mixed precision section 5.
double effective_bits(const Format& format);

/// Where an operand of an operator takes its type from.
struct CostOperand {
  int group = -1;  ///< -1: in no group
  bool is_parameter = false;
};

/// Bit operations = sum over products of MACs * bits of one operand * bits of the other.
class BitOperations {
 public:
  /// Observes shapes with a sample of zeros, open dimensions 1, when no run has shown them yet.
  BitOperations(const Simulation& simulation, const std::vector<QuantizerGroup>& groups,
                BitOpsCounting counting);

  /// Count when group g has type by_group[g]. Operands that no group holds count as float32, or,
  /// for kReference, like `start`.
  double total(const std::vector<Candidate>& by_group, const Candidate& start) const;
  /// Bit operations saved by one group going from `from` to `to` while all others stay at `from`.
  double reduction(int group, const Candidate& from, const Candidate& to) const;
  /// Sum over products of MACs * value(type of one operand, type of the other), as a table over the
  /// choices of the groups. Operands that no group holds count as float32; only for kEveryProduct.
  CostTable table(const std::vector<std::vector<Candidate>>& choices,
                  const std::function<double(const Format&, const Format&)>& value) const;
  /// (operator, multiply-accumulates), topological order.
  const std::vector<std::pair<std::string, std::int64_t>>& macs() const { return macs_; }

 private:
  struct Product {
    double macs = 0.0;
    CostOperand first;
    CostOperand second;
  };
  double bits(const CostOperand& operand, const Candidate& of_group, const Candidate& start) const;

  BitOpsCounting counting_;
  std::vector<Format> present_;  // parameter types now, by group: of choices without one
  std::vector<Product> products_;
  std::vector<std::pair<std::string, std::int64_t>> macs_;
};

/// One entry of the sensitivity list: how the model scores with only this group quantized, so.
struct GreedyEntry {
  int group = 0;
  Candidate candidate;
  double score = 0.0;      ///< higher is better
  double reduction = 0.0;  ///< bit operations saved against the baseline candidate
};

/// A measured configuration: the baseline with the entries of the list up to `position` applied.
struct GreedyPoint {
  int position = 0;
  int group = 0;  ///< of the last entry
  Candidate candidate;
  double relative_bit_ops = 1.0;  ///< against the baseline candidate everywhere
  double score = 0.0;
};

/// What the greedy search asks its caller: to run samples, to score, and to keep what is known.
///
/// Exceptions end the search; it puts every quantizer back first.
class GreedyEvaluator {
 public:
  virtual ~GreedyEvaluator() = default;
  /// Runs the calibration samples through the simulation.
  virtual void run_calibration_samples() = 0;
  /// Gives the enabled quantizers their encodings for the settings of now, when the caller knows
  /// them already; false: they come from calibration samples.
  virtual bool load_encodings() { return false; }
  /// Score of the model as it is set now; higher is better.
  virtual double score_phase1() = 0;
  virtual double score_phase2() = 0;

  /// Scores of the model with only these tensors quantized, state by state, as score_phase1() would
  /// give them; absent when the caller has no faster way than one by one.
  virtual std::optional<std::vector<double>> score_states(
      const std::vector<std::vector<std::string>>& /*tensors*/) {
    return std::nullopt;
  }
  /// Around scores of states that enable few quantizers each: the caller may keep float passes.
  virtual void begin_states(const std::vector<std::vector<std::string>>& /*tensors*/) {}
  virtual void end_states() {}

  struct Known {
    std::vector<GreedyEntry> entries;
    std::vector<GreedyPoint> points;
  };
  /// What an earlier search kept under this identity: a text of all that decides the results
  /// (model, rules, candidates, ranges after calibration, scores of the whole model).
  virtual Known recall(const std::string& identity) = 0;
  /// Called after each new entry or point with the list so far.
  virtual void keep_entries(const std::vector<GreedyEntry>& entries) = 0;
  virtual void keep_points(const std::vector<GreedyPoint>& points) = 0;
};

struct GreedyOptions {
  std::vector<Candidate> candidates;
  /// How far the score may fall below that of the float model, in units of the score; absent: every
  /// point of the list is measured, the last one chosen.
  std::optional<double> allowed_drop;
  std::string search = "binary";  ///< "binary", "interpolation" or "brute_force"
  bool ignore_kernels = false;    ///< every candidate for every group, whatever the rules support
  /// Ranges of the activations come from one calibration per candidate without weight quantization;
  /// otherwise from one per group and candidate.
  bool share_calibration = true;
  /// The candidate with the most effective bits is the baseline and the one with the fewest the
  /// lowest; otherwise the baseline is the one with the best score. For scores that only say yes or
  /// no.
  bool baseline_by_bits = false;
};

/// Why a greedy search ended.
enum class GreedyEnd {
  kSearched,       ///< the point that the search chose
  kBestTooWeak,    ///< even the best candidate falls too far; it was chosen
  kLowestSuffices  ///< the cheapest candidate is good enough everywhere
};

struct GreedyResult {
  GreedyEnd end = GreedyEnd::kSearched;
  double float_score = 0.0;
  double final_score = 0.0;
  Candidate baseline;
  std::vector<Candidate> baseline_by_group;
  std::vector<QuantizerGroup> groups;
  std::vector<GreedyEntry> entries;  ///< least harmful first; empty after an early end
  /// By position; those that were measured, and those that come to the same as one of them.
  std::vector<GreedyPoint> points;
  std::vector<Candidate> chosen;  ///< by group
  /// Quantizers of groups, and those of them whose type is not the baseline candidate's.
  std::int64_t num_activations = 0;
  std::int64_t num_parameters = 0;
  std::int64_t num_flipped_activations = 0;
  std::int64_t num_flipped_parameters = 0;
  std::int64_t num_phase2_scores = 0;
  int num_searched_points = 0;  ///< that the search looked at
  double phase1_s = 0.0;
  double phase2_s = 0.0;
};

/// The greedy search that users of the reference know: start from the best candidate everywhere,
/// lower one group after the other in order of their isolated scores, and search the list for the
/// last point within the allowed drop. Source: spec of the reference, mixed precision section 6.
///
/// Leaves the simulation calibrated in the chosen configuration.
/// @throws Error(kInvalidArgument): options; what the evaluator throws.
GreedyResult greedy_search(Simulation& simulation, const GreedyOptions& options,
                           GreedyEvaluator& evaluator);

/// How the model scores with each group alone.
struct IsolatedScores {
  std::vector<QuantizerGroup> groups;
  std::vector<double> scores;  ///< by group
};

/// Sets every enabled quantizer to one candidate and scores each group alone in it, by
/// GreedyEvaluator::score_phase1(). Leaves the simulation in the candidate, calibrated: activations
/// in front of float weights.
/// @throws Error(kNotReady) when no quantizer is enabled; what the evaluator throws. Quantizers are
/// as before then.
IsolatedScores isolated_scores(Simulation& simulation, const Candidate& candidate,
                               GreedyEvaluator& evaluator);

}  // namespace BITSWEEP_EXPORT bitsweep
