#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "allocate/group_settings.h"
#include "allocate/mix/kept_ranges.h"
#include "bitsweep/allocation.h"
#include "bitsweep/quantizer.h"
#include "bitsweep/sample_source.h"

namespace bitsweep::allocate {

/// Called now and then with (stage, done, total); throws to cancel.
using Tick = std::function<void(const char*, std::int64_t, std::int64_t)>;

/// Every quantizer's settings and encoding in each candidate, from one pass over the calibration
/// samples for each range estimator: ranges of activations do not depend on their width, and
/// weights need no samples. Activations are observed behind the widest weights of all candidates,
/// as a calibration of the whole simulation does it.
class EncodingBank {
 public:
  /// `kept`: where ranges of an earlier calibration are, and where these go; may be null.
  /// @throws Error(kInvalidData) without samples.
  EncodingBank(Simulation& simulation, const std::vector<QuantizerGroup>& groups,
               std::vector<Candidate> candidates, SampleSource& samples, const Tick& tick,
               KeptRuns* kept = nullptr);

  /// All groups in one candidate, for runs of single groups.
  void set_all(int candidate);
  /// Group g in candidate by_group[g]; then the rules that hold whatever the formats are.
  void set(const std::vector<int>& by_group);
  /// Quantizers as before.
  void restore() const { start_.restore(); }

 private:
  /// What decides an encoding and may differ between candidates.
  struct Settings {
    Format format;
    bool symmetric = false;
    Granularity granularity;
    RangeEstimator estimator;
    bool operator==(const Settings&) const = default;
  };
  struct Entry {
    Settings settings;
    bool enabled = false;
    std::optional<Encoding> encoding;
    std::shared_ptr<const Quantizer::Snapshot> snapshot;  ///< null before the candidate is made
  };
  static Settings settings_of(const Quantizer& quantizer);
  /// As the quantizer is now; an equal one of `known` where there is one.
  static Entry entry_of(const Quantizer& quantizer, const std::vector<Entry>& known);

  void calibrate(const Tick& tick);
  /// Candidates in the order in which the most of them share statistics.
  std::vector<int> cheapest_order() const;
  void make_candidate(int candidate, const Tick& tick);
  /// Estimator, and granularity of a weight, of the candidate; or as they were at first.
  void set_estimator(Quantizer& quantizer, const Candidate& candidate) const;
  void set_grid(Quantizer& weight, const Candidate& candidate) const;
  void set_weights(const Candidate& candidate);
  /// What calibration would have shown.
  void observe_shapes();
  /// Encodings of the activations as they are set now.
  void compute_activations(const Tick& tick);
  void compute_parameters();
  /// Encodings for quantizers that lost theirs to a rule.
  void complete();
  void restore_group(std::size_t group, int candidate);

  Simulation& simulation_;
  const std::vector<QuantizerGroup>& groups_;
  std::vector<Candidate> candidates_;
  SampleSource& samples_;
  SavedSettings start_;
  KeptRanges ranges_;
  bool calibrated_ = false;
  std::vector<std::shared_ptr<Quantizer>> activations_;
  std::vector<std::shared_ptr<Quantizer>> parameters_;
  std::map<const Quantizer*, Settings> at_first_;
  std::map<const Quantizer*, std::vector<Entry>> entries_;  // by candidate
};

}  // namespace bitsweep::allocate
