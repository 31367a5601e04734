#include "quant/fixed_range.h"

#include <algorithm>
#include <cmath>

namespace bitsweep {
namespace {

constexpr double kNarrowestFixedRange = 0.01;
constexpr double kNarrowestClippedRange = 1e-5;

double codes(int bitwidth) { return std::ldexp(1.0, bitwidth) - 1.0; }

}  // namespace

AffineEncoding make_fixed_range_encoding(double min, double max, const AffineOptions& options) {
  min = std::min(0.0, min);
  max = std::max({0.0, max, min + kNarrowestFixedRange});
  AffineEncoding e;
  if (options.symmetric) {
    const double below = std::ldexp(1.0, options.bitwidth - 1);
    const double above = below - 1.0;
    e.delta = std::max(std::abs(max / above), std::abs(min / below));
    e.offset = -(below - (options.strict_symmetric ? 1.0 : 0.0));
    e.max = e.delta * above;
  } else {
    const double steps = codes(options.bitwidth);
    e.delta = (max - min) / steps;
    e.offset = std::nearbyint(min / e.delta) + 0.0;
    e.max = e.delta * e.offset + e.delta * steps;
  }
  e.min = e.delta * e.offset;
  return e;
}

AffineEncoding clip_encoding(const AffineEncoding& encoding, double limit,
                             const AffineOptions& options) {
  if (encoding.min >= -limit && encoding.max <= limit) return encoding;
  AffineEncoding e;
  e.min = std::max(encoding.min, -limit);
  e.max = std::min(encoding.max, limit);
  const double min = std::min(e.min, 0.0);
  const double max = std::max({e.max, 0.0, min + kNarrowestClippedRange});
  const double steps =
      codes(options.bitwidth) - (options.symmetric && options.strict_symmetric ? 1.0 : 0.0);
  if (options.symmetric && min < 0.0) {
    const double above = std::floor(steps / 2.0);
    e.delta = max / above;
    e.offset = -above - (options.strict_symmetric ? 0.0 : 1.0);
  } else {
    e.delta = (max - min) / steps;
    e.offset = std::nearbyint(min / e.delta) + 0.0;
  }
  return e;
}

}  // namespace bitsweep
