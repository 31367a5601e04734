#pragma once

#include <cstdint>

namespace bitsweep {

/// floor() for values that fit in 63 bits, without the library call that the baseline instruction
/// set needs.
inline float fast_floor(float x) {
  const auto below = static_cast<float>(static_cast<std::int64_t>(x));
  return below > x ? below - 1.0F : below;
}

inline double fast_floor(double x) {
  const auto below = static_cast<double>(static_cast<std::int64_t>(x));
  return below > x ? below - 1.0 : below;
}

}  // namespace bitsweep
