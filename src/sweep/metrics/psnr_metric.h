#pragma once

#include <span>

#include "sweep/metrics/output_metric.h"

namespace bitsweep::scoring {

/// 20 log10(range / rms error) with both kept above zero, clipped to +-max_db. A sum of squared
/// errors beyond float32 gives -max_db, as where PSNR is computed in float32.
double psnr_from(double min, double max, double squared_error, double count, double max_db);

/// Base of the metrics that are one PSNR over all samples and differ in the entries they compare.
///
/// A metric sets the range of the expected entries in describe() and compares them in measure().
class PsnrMetric : public OutputMetric {
 public:
  PsnrMetric(std::string name, const MetricOptions& options)
      : OutputMetric(std::move(name), 4, options) {}

 protected:
  /// Keeps the range of the entries that are compared; they must be finite.
  static void set_range(OutputReference& output, std::span<const float> expected);
  /// The sums of one sample.
  static bool compare(const OutputReference& reference, std::span<const float> expected,
                      std::span<const float> actual, std::span<double> sums);

 private:
  enum Sum { kError, kCount, kMin, kMax };

  void join(std::span<double> into, std::span<const double> from) const final;
  double score_of(std::span<const double> sums) const final;
  double worst_score() const final { return -options().max_db; }
};

}  // namespace bitsweep::scoring
