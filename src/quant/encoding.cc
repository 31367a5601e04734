#include "bitsweep/encoding.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "bitsweep/error.h"

namespace bitsweep {
namespace {

// Ranges stay this far inside float32, so that the ends of the grid do not overflow.
constexpr double kLargest = 0.99 * static_cast<double>(std::numeric_limits<float>::max());
constexpr double kSmallestDelta = 1.1920928955078125e-07;  // 2^-23

[[noreturn]] void refuse(const std::string& what, const std::string& fix) {
  throw Error(ErrorCode::kInvalidArgument, "encoding", what, fix);
}

void check(double min, double max, const AffineOptions& options) {
  if (std::isnan(min) || std::isnan(max) || min > max) {
    refuse(fmt::format("[{}, {}] is not a range", min, max), "give numbers with min <= max");
  }
  Format::integer(options.bitwidth);
  if (options.zero_point_shift == 0.0) return;
  if (!options.symmetric || options.strict_symmetric) {
    refuse("a shifted zero point needs a symmetric grid that is not strict",
           "set symmetric and clear strict_symmetric, or drop the shift");
  }
}

}  // namespace

AffineEncoding make_encoding(double min, double max, const AffineOptions& options) {
  check(min, max, options);
  min = std::clamp(min, -kLargest, 0.0);
  max = std::clamp(max, 0.0, kLargest);
  double steps = std::ldexp(1.0, options.bitwidth) - 1.0;
  if (options.symmetric && options.strict_symmetric) steps -= 1.0;
  const bool from_zero = options.symmetric && options.unsigned_symmetric && min >= 0.0;
  if (from_zero && options.zero_point_shift != 0.0) {
    refuse("a shifted zero point cannot start at zero",
           "clear unsigned_symmetric, or drop the shift");
  }
  const double smallest = std::min(kSmallestDelta, 0.01 / steps);

  AffineEncoding e;
  if (options.symmetric && !from_zero) {
    const double above = std::floor(steps * 0.5) + options.zero_point_shift;
    const double below = steps - above;
    // With 2 bits the one positive code would have to hold the whole maximum; the reference lets it
    // clip by half.
    const double divisor = steps == 3.0 && options.zero_point_shift == 0.0 ? below : above;
    e.delta = std::max(smallest, std::max(max / divisor, -min / below));
    e.offset = -below;
  } else {
    e.delta = std::max(smallest, (max - min) / steps);
    // + 0.0 turns -0.0 into 0.0.
    e.offset = std::clamp(std::round(min / e.delta), -steps, 0.0) + 0.0;
  }
  if (e.offset < 0.0) e.delta = std::min(e.delta, -kLargest / e.offset);
  if (e.offset + steps > 0.0) e.delta = std::min(e.delta, kLargest / (e.offset + steps));
  e.min = e.delta * e.offset;
  e.max = e.delta * (e.offset + steps);
  return e;
}

}  // namespace bitsweep
