#include "quant/formats/float8.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bitsweep/error.h"

namespace bitsweep {

kernels::Float8Layout float8_layout(Format::Kind kind) {
  switch (kind) {
    case Format::Kind::kFloat8E4M3FN:
      return {.largest = 448.0F, .mantissa_bits = 3, .min_exponent = -6};
    case Format::Kind::kFloat8E5M2:
      return {.largest = 57344.0F, .mantissa_bits = 2, .min_exponent = -14};
    default:
      throw Error(ErrorCode::kInvalidArgument, "format", "this format is not an 8-bit float",
                  "use float8e4m3fn or float8e5m2");
  }
}

AffineEncoding make_float8_encoding(double min, double max, Format::Kind kind) {
  const double largest = float8_layout(kind).largest;
  const double magnitude = std::max(std::abs(min), std::abs(max));
  // The scale stays a normal float32, so that dividing by it is accurate; it also serves tensors
  // that are all zero.
  constexpr double kSmallest = std::numeric_limits<float>::min();
  AffineEncoding e;
  e.delta = std::max(magnitude / largest, kSmallest);
  e.offset = 0.0;
  e.max = e.delta * largest;
  e.min = -e.max;
  return e;
}

}  // namespace bitsweep
