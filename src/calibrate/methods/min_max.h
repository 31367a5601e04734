#pragma once

#include <vector>

#include "bitsweep/calibration.h"

namespace bitsweep {

/// The lowest and the highest finite value of every cell; a cell that saw nothing else than NaN
/// gets the smallest grid.
class MinMaxObserver : public Observer {
 public:
  MinMaxObserver(const Granularity& granularity, const Shape& shape);

  void observe(const float* values, const Shape& shape) override;
  std::vector<AffineEncoding> encodings(const AffineOptions& options) const override;
  bool has_data() const override { return num_values_ > num_non_finite_; }

 private:
  Granularity granularity_;
  std::vector<float> low_;
  std::vector<float> high_;
};

}  // namespace bitsweep
