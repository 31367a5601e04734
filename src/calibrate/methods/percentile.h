#pragma once

#include "bitsweep/encoding.h"
#include "calibrate/histogram.h"

namespace bitsweep {

/// The range that leaves out (100 - percentile) percent of the values on each side, in whole
/// buckets. Source: spec of the reference, section 5.3.
AffineEncoding percentile_encoding(const Histogram& histogram, double percentile,
                                   const AffineOptions& options);

}  // namespace bitsweep
