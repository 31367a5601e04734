#pragma once

#include <memory>
#include <vector>

#include "bitsweep/calibration.h"
#include "calibrate/histogram.h"
#include "calibrate/skipping_observer.h"

namespace bitsweep {

/// A histogram per cell; the scheme turns each into an encoding.
class HistogramObserver : public SkippingObserver {
 public:
  HistogramObserver(const ObserverOptions& options, const Granularity& granularity,
                    const Shape& shape);

  void observe(const float* values, const Shape& shape) override;
  std::vector<AffineEncoding> encodings(const AffineOptions& options) const override;
  std::vector<std::vector<HistogramBucket>> histograms() const override;

 private:
  bool only_zeros() const override;
  AffineEncoding encoding(const Histogram& histogram, const AffineOptions& options) const;

  ObserverOptions options_;
  Granularity granularity_;
  std::vector<std::unique_ptr<HistogramBuilder>> cells_;
};

}  // namespace bitsweep
