#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "bitsweep/calibration.h"

namespace bitsweep {

/// An observer that skips what is not finite and knows what it skipped.
class SkippingObserver : public Observer {
 public:
  bool has_data() const override { return num_values_ > num_non_finite_; }

  /// There are finite values, and all of them are zero.
  bool saw_only_zeros() const { return has_data() && only_zeros(); }

  /// All that was seen is infinite, or infinite and zero: the mask of an attention. A grid has no
  /// infinity, and zero is all that its range could hold.
  bool saw_only_a_mask() const {
    if (num_non_finite_ == num_nan_) return false;
    return has_data() ? only_zeros() : num_nan_ == 0;
  }

 protected:
  /// Enters a batch of which `not_finite` values were skipped.
  void count(const float* values, std::int64_t size, std::int64_t not_finite) {
    num_values_ += size;
    num_non_finite_ += not_finite;
    if (not_finite == 0) return;
    num_nan_ += std::count_if(values, values + size, [](float v) { return std::isnan(v); });
  }

 private:
  /// Every finite value is zero.
  virtual bool only_zeros() const = 0;

  std::int64_t num_nan_ = 0;
};

}  // namespace bitsweep
