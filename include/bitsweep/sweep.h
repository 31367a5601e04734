#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bitsweep/export.h"
#include "bitsweep/interactions.h"
#include "bitsweep/metric.h"
#include "bitsweep/sample_source.h"
#include "bitsweep/simulation.h"

namespace BITSWEEP_EXPORT bitsweep {

/// A named set of quantizers (by tensor name) that is switched together.
struct SweepGroup {
  std::string name;
  std::vector<std::string> tensors;
};

struct SweepProgress {
  std::int64_t done = 0;   ///< (state, sample) pairs evaluated
  std::int64_t total = 0;  ///< -1 while the number of samples is unknown
  double elapsed_s = 0.0;
  double remaining_s = -1.0;  ///< estimate; -1: not known yet
  std::string worst;          ///< most sensitive group so far
  double worst_score = 0.0;
};

/// What is on while a group is scored.
enum class SweepMode {
  kEnableOne,   ///< the group alone: its damage to the float model
  kDisableOne,  ///< every enabled quantizer but the group (leave one out)
  kCumulative,  ///< the group and all groups before it, in the order given
};

/// "enable_one", "disable_one" or "cumulative". @throws Error(kInvalidArgument).
SweepMode parse_sweep_mode(std::string_view name);
std::string_view sweep_mode_name(SweepMode mode);

/// What the threads of a sweep do at the same time.
enum class ThreadUse {
  kStates,    ///< a state each, and no run is shared: the bits do not depend on how many they are
  kRuns,      ///< all of them the same run: operators that split sums among threads may give others
  kMeasured,  ///< kRuns where passes of the float model are clearly faster so, and their outputs
              ///< the same to the last bit; measured at start
};

/// "states", "runs" or "measured". @throws Error(kInvalidArgument).
ThreadUse parse_thread_use(std::string_view name);
std::string_view thread_use_name(ThreadUse use);

/// A metric by name, with its options.
struct MetricChoice {
  std::string name;
  MetricOptions options;
};

/// Spends samples on the groups near the boundary of a decision only: which groups are the most
/// sensitive ones, or which are beyond a threshold.
///
/// First a few parts of the network run quantized on every sample: the pilots, which show which
/// samples carry the error. All groups start on the heaviest of these; after each round those
/// furthest from the boundary stop, so that the whole work stays within its limit and the ones next
/// to the boundary run on all samples. Groups that stopped after the first round run once more on
/// the other samples, many at a time; where such a block errs so much that one of its members might
/// belong to the selection after all, it is split until the one is found, and that one goes on. The
/// selection can still differ by a group or two from that of a whole sweep on the same samples; see
/// Stability.
struct AdaptiveOptions {
  double top_fraction = 0.1;  ///< the decision: this part of the groups is the most sensitive one
  std::optional<double> threshold;  ///< instead: groups that score worse than this
  double confidence = 0.975;        ///< of the place of one group
  std::int64_t first_samples = 3;   ///< of every group, at least 2
  /// Of the evaluations and of the float passes of a whole sweep, at most; beyond a few samples.
  double work = 1.0 / 3.0;
};

/// The work ahead, as far as it is known before it starts.
struct SweepForecast {
  std::int64_t num_states = 0;
  std::int64_t num_samples = -1;              ///< -1: unknown
  double forward_equivalents_per_sample = 0;  ///< for all states
};

struct SweepOptions {
  std::string metric = "sqnr";
  MetricOptions metric_options;
  std::vector<MetricChoice> more_metrics;  ///< scored from the same runs
  SweepMode mode = SweepMode::kEnableOne;
  bool reuse =
      true;  ///< false: every state re-runs the whole simulated model (for tests and comparisons)
  /// False: the same plan, but each state on each sample makes everything it needs anew: float
  /// pass, boundary, reference, sessions. The same bits for many times the work (for tests).
  bool caches = true;
  int num_threads = 0;  ///< 0: one per core
  ThreadUse thread_use = ThreadUse::kStates;
  std::uint64_t seed = 0;  ///< of the bootstrap
  std::int64_t max_memory_bytes =
      0;  ///< for sessions and boundaries; 0: half of the machine's memory
  std::optional<AdaptiveOptions> until_stable;  ///< absent: every group on every sample
  /// Also computes how the groups' errors add up; see Interactions. Needs kEnableOne.
  bool interactions = false;

  /// Keeps every answer, by content of model, encodings, samples and metric: a killed or stopped
  /// sweep continues with the next call, and what is known is not run again. Empty: nothing is
  /// kept.
  std::filesystem::path run_directory;
  /// Limit of the outputs kept there, from which other metrics are scored without a run.
  std::int64_t max_kept_bytes = 1'000'000'000;

  /// Called once, before the first run, with what will be done.
  std::function<void(const SweepForecast&)> forecast;
  /// Returns true to stop early; the result then holds what is done so far.
  std::function<bool(const SweepProgress&)> progress;
};

/// How well the samples pin a score down: standard error and 95% interval by bootstrap over the
/// samples, in the score's unit.
struct ScoreInterval {
  double standard_error = 0.0;
  double low = 0.0;
  double high = 0.0;
};

/// One row: how the model scores in the state of this group.
struct SweepScore {
  std::string name;
  double score = 0.0;
  std::int64_t rank = 0;           ///< 1 = most sensitive; in a cumulative sweep the step
  std::vector<double> per_sample;  ///< in an adaptive sweep those looked at, in that order
  std::vector<double> per_output;  ///< in the order of the compared outputs; NaN without values
  std::optional<ScoreInterval> interval;  ///< absent with fewer than two samples
  bool tied_with_next =
      false;  ///< the samples leave open which of this and the next row is more sensitive
};

/// Scores of all groups by one metric.
struct MetricScores {
  std::string metric;
  std::string unit;
  Better better = Better::kHigher;
  std::vector<SweepScore> scores;     ///< most sensitive first; ties keep group order
  std::optional<double> float_score;  ///< of the float model, for metrics that compare with labels
};

/// How an adaptive sweep ended.
struct Stability {
  std::vector<std::string> selected;  ///< the most sensitive groups, or those beyond the threshold
  /// Of the least certain place among groups that stopped early: which part of the states that ran
  /// on all samples moved, from then on, by less than half of what that group would have to move.
  double confidence = 0.0;
  /// Every place reached the confidence asked for, and nothing was left unsearched: a whole sweep
  /// on the same samples is expected to select the same groups.
  bool settled = false;
  std::int64_t num_evaluations = 0;  ///< (state, sample) pairs
  std::int64_t num_without_stopping =
      0;  ///< pairs of the same states on all samples seen; at least
};

struct SweepResult : MetricScores {
  SweepMode mode = SweepMode::kEnableOne;
  std::vector<SweepGroup> groups;  ///< as given
  std::vector<MetricScores> more;  ///< of SweepOptions::more_metrics
  std::int64_t num_samples = 0;
  bool complete = true;  ///< false: stopped by the user
  std::optional<Stability> stability;
  std::optional<Interactions> interactions;
  double forward_equivalents =
      0.0;  ///< cost of all runs of one sample in units of one float pass, by operator cost
  std::int64_t num_runs = 0;
  std::int64_t num_evaluations = 0;  ///< (state, sample) pairs that needed a run
  std::int64_t num_kept = 0;         ///< pairs answered from the run directory
  double elapsed_s = 0.0;
  std::vector<std::string> notes;  ///< what the user should know, a sentence each
};

/// Which quantizers take part.
struct QuantizerFilter {
  bool parameters = true;
  bool activations = true;
  /// Tensor names with * and ?; empty: all.
  std::vector<std::string> patterns;
};

/// Groups of the simulation's enabled quantizers: one per quantizer, or one per operator that owns
/// them.
std::vector<SweepGroup> group_by_quantizer(const Simulation& simulation,
                                           const QuantizerFilter& filter = {});
std::vector<SweepGroup> group_by_operator(const Simulation& simulation,
                                          const QuantizerFilter& filter = {});
/// One per operator, in topological order that stays on a branch to its end: its outputs,
/// parameters, and those of its inputs that no operator makes.
std::vector<SweepGroup> group_by_layer(const Simulation& simulation);

/// Tensor -> operator that owns its quantizer: the one it is a parameter of, else the one that
/// makes it, else its first reader. Tensors of no operator are left out.
std::map<std::string, std::string> operator_of_tensor(const Simulation& simulation);

/// Scores every group in the state that the mode says; the quantizers' switches are put back on
/// every exit.
/// @throws Error(kNotReady) without groups, with an uncalibrated quantizer, or when another process
/// uses the run directory.
SweepResult sweep(Simulation& simulation, SampleSource& samples,
                  const std::vector<SweepGroup>& groups, const SweepOptions& options = {});

}  // namespace BITSWEEP_EXPORT bitsweep
