#pragma once

#include <span>
#include <string>
#include <vector>

#include "sweep/metrics/output_metric.h"

namespace bitsweep::scoring {

/// Base of the metrics that compare the simulated outputs with the truth: one label for each row of
/// the last axis. Negative labels are skipped, as in padded text. Looks at the first floating-point
/// output unless the options choose.
class LabelMetric : public OutputMetric {
 public:
  using OutputMetric::OutputMetric;

 protected:
  std::vector<int> default_outputs(std::span<const Tensor> reference) const final {
    return first_float_output(reference);
  }
  /// Keeps nothing of the float output but its shape. @throws Error(kInvalidData).
  void describe(OutputReference& output) const final;
  bool measure(const OutputReference& reference, std::span<const float> simulated,
               std::span<double> sums) const final;

  /// What one row adds to the metric's sum; NaN when the row's values allow no answer.
  virtual double measure_row(std::span<const float> row, std::size_t label) const = 0;

  enum Sum { kTotal, kRows, kNumSums };
};

}  // namespace bitsweep::scoring
