#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/export.h"
#include "bitsweep/metric.h"
#include "bitsweep/sample_source.h"
#include "bitsweep/simulation.h"

namespace BITSWEEP_EXPORT bitsweep {

/// A named set of quantizers (by tensor name) that is switched on together.
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

struct SweepOptions {
  std::string metric = "sqnr";
  MetricOptions metric_options;
  bool reuse =
      true;  ///< false: every state re-runs the whole simulated model (for tests and comparisons)
  int num_threads = 0;     ///< states evaluated at the same time; 0: one per core
  std::uint64_t seed = 0;  ///< of the bootstrap
  std::int64_t max_memory_bytes =
      0;  ///< for sessions and boundaries; 0: half of the machine's memory
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

/// One row: how the model scores with only this group quantized.
struct SweepScore {
  std::string name;
  double score = 0.0;
  std::int64_t rank = 0;  ///< 1 = most sensitive
  std::vector<double> per_sample;
  std::optional<ScoreInterval> interval;  ///< absent with fewer than two samples
  bool tied_with_next =
      false;  ///< the samples leave open which of this and the next row is more sensitive
};

struct SweepResult {
  std::string metric;
  std::string unit;
  Better better = Better::kHigher;
  std::vector<SweepScore> scores;  ///< most sensitive first; ties keep group order
  std::int64_t num_samples = 0;
  bool complete = true;  ///< false: stopped by the user
  double forward_equivalents =
      0.0;  ///< cost of all runs of one sample in units of one float pass, by operator cost
  std::int64_t num_runs = 0;
  double elapsed_s = 0.0;
};

/// Groups of the simulation's enabled quantizers: one per quantizer, or one per operator that owns
/// them.
std::vector<SweepGroup> group_by_quantizer(const Simulation& simulation);
std::vector<SweepGroup> group_by_operator(const Simulation& simulation);

/// Tensor -> operator that owns its quantizer: the one it is a parameter of, else the one that
/// makes it, else its first reader. Tensors of no operator are left out.
std::map<std::string, std::string> operator_of_tensor(const Simulation& simulation);

/// Scores every group by enabling it alone; the quantizers' switches are put back on every exit.
/// @throws Error(kNotReady) without groups or with an uncalibrated quantizer.
SweepResult sweep(Simulation& simulation, SampleSource& samples,
                  const std::vector<SweepGroup>& groups, const SweepOptions& options = {});

}  // namespace BITSWEEP_EXPORT bitsweep
