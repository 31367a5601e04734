#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bitsweep/export.h"
#include "bitsweep/sample_source.h"
#include "bitsweep/simulation.h"

namespace BITSWEEP_EXPORT bitsweep {

/// How far an operator's first output is from that of the float model.
struct LayerError {
  std::string layer;   ///< name of the operator
  std::string tensor;  ///< its first output
  /// Mean over all values of all samples, in squared units of the tensor; NaN where its size
  /// depends on values and is not that of the float model.
  double mse = 0.0;
};

/// Errors inside the network with all enabled quantizers on: they add up from the input to the
/// output, so a step shows where quality is lost. One row for each operator whose first output
/// has a quantizer, in topological order. Costs two runs per sample, whatever the number of
/// operators.
///
/// `max_samples`: how many to look at; -1: all. `on_sample` gets the number of those done and stops
/// the work by returning true.
/// @throws Error(kNotReady) without such an operator or with an uncalibrated quantizer;
/// Error(kInvalidData) without samples.
std::vector<LayerError> layer_errors(Simulation& simulation, SampleSource& samples,
                                     std::int64_t max_samples = -1,
                                     const std::function<bool(std::int64_t)>& on_sample = {});

}  // namespace BITSWEEP_EXPORT bitsweep
