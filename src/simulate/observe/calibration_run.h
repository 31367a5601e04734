#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/quantizer.h"
#include "bitsweep/sample_source.h"
#include "bitsweep/tensor.h"
#include "simulate/network/shapes.h"
#include "simulate/observe/divisor_watch.h"
#include "simulate/observe/observation.h"

namespace bitsweep::simulate {

/// One calibration: parameters first from their values, then activations observed sample by sample
/// behind quantized parameters. Until finish(), abort() puts every quantizer back. Source: spec of
/// the reference, quantizers section 6.
class CalibrationRun {
 public:
  CalibrationRun(Network& network, Shapes& shapes, Observation& observation);

  std::vector<Tensor> observe(const Feed& feed);
  /// Observes all samples on several threads, with the statistics of one after the other.
  /// `on_sample` is called after each, from one thread at a time, and stops the work by returning
  /// true. @throws Error(kCancelled) when stopped.
  void observe_all(SampleSource& samples, int num_threads,
                   const std::function<bool(std::int64_t num_done)>& on_sample);
  std::int64_t num_samples() const { return num_samples_; }
  /// Statistics -> encodings. @throws Error(kNotReady) naming the first tensor that saw no finite
  /// value.
  void finish();
  void abort();

  /// Tensors with NaN or infinite values, with their number.
  std::vector<std::pair<std::string, std::int64_t>> non_finite_counts() const;

 private:
  void note_zeros();
  void leave_in_float(int site, const std::string& why);

  Network& network_;
  Shapes& shapes_;
  Observation& observation_;
  std::vector<std::pair<std::shared_ptr<Quantizer>, std::shared_ptr<const Quantizer::Snapshot>>>
      before_;
  std::vector<std::pair<Quantizer*, Lpbq>> lpbq_;  // put back when activations have been observed
  DivisorWatch divisors_;
  std::int64_t num_samples_ = 0;
};

}  // namespace bitsweep::simulate
