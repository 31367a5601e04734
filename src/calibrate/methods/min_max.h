#pragma once

#include <vector>

#include "bitsweep/calibration.h"
#include "calibrate/skipping_observer.h"

namespace bitsweep {

/// The lowest and the highest finite value of every cell; a cell that saw nothing else than NaN
/// gets the smallest grid.
class MinMaxObserver : public SkippingObserver {
 public:
  MinMaxObserver(const Granularity& granularity, const Shape& shape);

  void observe(const float* values, const Shape& shape) override;
  std::vector<AffineEncoding> encodings(const AffineOptions& options) const override;

 private:
  bool only_zeros() const override;

  Granularity granularity_;
  std::vector<float> low_;
  std::vector<float> high_;
};

}  // namespace bitsweep
