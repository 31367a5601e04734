#pragma once

#include <algorithm>
#include <cmath>

namespace bitsweep::allocate {

/// Signal over noise above which outputs count as equal, in dB.
inline constexpr double kMaxDb = 100.0;

/// What stands for a configuration with NaN or infinite outputs, or whose noise is beyond measure.
inline bool is_not_finite(double db) { return db <= -kMaxDb; }

/// Natural logarithm of a loss by dB of quality.
inline const double kNepersPerDb = std::log(10.0) / 10.0;

/// Quality in dB of a loss, the share of the noise in the signal; and back.
inline double db_of(double loss) {
  return loss <= 0.0 ? kMaxDb : std::clamp(-10.0 * std::log10(loss), -kMaxDb, kMaxDb);
}
inline double loss_of_db(double db) { return std::pow(10.0, -db / 10.0); }

}  // namespace bitsweep::allocate
