#pragma once

#include "bitsweep/encoding.h"

namespace bitsweep {

/// Encoding of a range that a rules file or the user fixes. Differs from make_encoding(): the range
/// is at least 0.01 wide, the zero point rounds half to even and there is no smallest step. Source:
/// spec of the reference, section 2.3.
AffineEncoding make_fixed_range_encoding(double min, double max, const AffineOptions& options);

/// Encoding clipped to [-limit, limit]; the one given when it lies inside.
AffineEncoding clip_encoding(const AffineEncoding& encoding, double limit,
                             const AffineOptions& options);

}  // namespace bitsweep
