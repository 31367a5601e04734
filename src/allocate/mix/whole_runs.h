#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocate/mix/clipping.h"
#include "allocate/mix/encoding_bank.h"
#include "allocate/mix/kept_runs.h"
#include "allocate/mix/mix_groups.h"
#include "bitsweep/metric.h"
#include "bitsweep/sample_source.h"
#include "bitsweep/simulation.h"
#include "simulate/neighbour_runs.h"

namespace bitsweep::allocate {

/// A configuration that was run for real.
struct WholeRun {
  MeasuredMix measured;
  MeasuredMix weighted;       ///< the same with samples weighted, see sample_weight()
  double predicted_db = 0.0;  ///< by the problem that proposed it
  double expected_db = 0.0;   ///< see MixPoint
};

/// Runs whole configurations on the search samples, each once. The options must outlive it.
class WholeRuns {
 public:
  WholeRuns(Simulation& simulation, EncodingBank& bank, const MixGroups& groups, KeptRuns& kept,
            SampleSource& search, const MixOptions& options, const Tick& tick);

  /// By search sample; equal ones when never called.
  void weigh_samples(std::vector<double> weights) { weights_ = std::move(weights); }

  /// Leaves the simulation in a configuration.
  void set(const std::vector<int>& choices);
  /// Runs a configuration before anything is known of the groups alone. It does not count as
  /// measured; measuring it later costs nothing.
  MeasuredMix look_at(const std::vector<int>& choices);
  /// The same with every candidate in all groups that have it.
  std::vector<MeasuredMix> look_at_uniform();
  /// References stay valid.
  const WholeRun& measure(const std::vector<int>& choices, double predicted_db);
  /// Null when it was not run.
  const WholeRun* find(const std::vector<int>& choices) const;
  const std::deque<WholeRun>& all() const { return runs_; }
  std::vector<MeasuredMix> measured() const;
  /// With samples weighted, all moved by the same dB so that on average they are as measured.
  std::vector<MeasuredMix> weighted() const;
  const MixGroups& groups() const { return groups_; }
  /// Of these activations in a configuration, on the search samples: see worst_clipping().
  std::optional<Clipping> clipping(const std::vector<int>& choices,
                                   const std::vector<std::string>& activations);
  /// How many of those that were run give NaN or infinite outputs, and where NaN begins in the
  /// first of them; empty when none does.
  std::string not_finite_note() const;
  /// SQNR of the simulation as it is set now, in dB, of the worst output.
  double score(SampleSource& samples);

 private:
  using Sums = std::vector<double>;
  using Weights = std::vector<double>;
  std::vector<int> candidates_of(const std::vector<int>& choices) const;
  /// Of the search samples.
  const std::vector<Sums>& sums_of(const std::vector<int>& choices);
  std::vector<Sums> run(SampleSource& samples, bool are_search);
  /// Without sample `but`; no weights: equal ones.
  double score_of(const std::vector<Sums>& samples, std::size_t but, const Weights& weights) const;
  MeasuredMix measured_of(const std::vector<int>& choices, const std::vector<Sums>& samples,
                          const Weights& weights) const;
  std::shared_ptr<const MetricReference> reference_of(const Feed& feed, std::size_t sample,
                                                      bool keep);

  Simulation& simulation_;
  simulate::NeighbourRuns neighbours_;  ///< on search samples
  EncodingBank& bank_;
  const MixGroups& groups_;
  KeptRuns& kept_;
  SampleSource& search_;
  const Tick& tick_;
  std::string sums_key_;  ///< of the journal
  std::unique_ptr<MetricAccumulator> metric_;
  std::deque<WholeRun> runs_;
  /// By the candidates of the groups: a choice's number may change when others are left out.
  std::map<std::vector<int>, std::vector<Sums>> sums_;
  Weights weights_;
  /// Float outputs of search samples, by number.
  std::map<std::size_t, std::shared_ptr<const MetricReference>> references_;
  std::int64_t reference_bytes_ = 0;
  std::optional<std::string> nan_begins_;  ///< see simulate::first_nan()
};

}  // namespace bitsweep::allocate
