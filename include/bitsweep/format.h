#pragma once

#include <string>
#include <string_view>

#include "bitsweep/export.h"

namespace BITSWEEP_EXPORT bitsweep {

/// A numeric type that a quantizer can round to: intN (N bits, affine), float16, float32, bfloat16
/// or an 8-bit float.
struct Format {
  enum class Kind { kInt, kFloat16, kBfloat16, kFloat32, kFloat8E4M3FN, kFloat8E5M2 };

  Kind kind = Kind::kInt;
  int bitwidth = 8;

  /// Integer format of 2 to 32 bits. @throws Error(kInvalidArgument).
  static Format integer(int bitwidth);
  /// "int8", "int4", "float16", "float8e4m3fn", ... @throws Error(kInvalidArgument) naming the
  /// known ones.
  static Format parse(std::string_view name);

  bool is_integer() const { return kind == Kind::kInt; }
  /// Has a scale that must be calibrated: every integer and the 8-bit floats.
  bool needs_encoding() const {
    return is_integer() || kind == Kind::kFloat8E4M3FN || kind == Kind::kFloat8E5M2;
  }
  std::string name() const;
  bool operator==(const Format&) const = default;
};

}  // namespace BITSWEEP_EXPORT bitsweep
