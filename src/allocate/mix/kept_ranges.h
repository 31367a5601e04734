#pragma once

#include <memory>
#include <string>
#include <vector>

#include "allocate/mix/kept_runs.h"
#include "bitsweep/quantizer.h"
#include "bitsweep/sample_source.h"
#include "bitsweep/simulation.h"

namespace bitsweep::allocate {

/// Encodings of activations that an earlier calibration gave, by content of model and samples and
/// by all settings that decide them. Without a run directory nothing is known.
class KeptRanges {
 public:
  using Quantizers = std::vector<std::shared_ptr<Quantizer>>;

  /// `kept` may be null. Goes through the samples once.
  KeptRanges(const Simulation& simulation, KeptRuns* kept, SampleSource& samples);

  /// Weights, with their encodings, that activations are observed behind.
  void observed_behind(const Quantizers& weights);

  /// Gives the quantizers their encodings for what they are set to now; false, with nothing
  /// changed, when these are not known.
  bool load(const Quantizers& quantizers) const;
  void keep(const Quantizers& quantizers) const;

 private:
  const Simulation& simulation_;
  KeptRuns* kept_;
  journal::Key calibration_;  // model, samples and weights
};

}  // namespace bitsweep::allocate
