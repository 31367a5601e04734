#pragma once

#include "bitsweep/encoding.h"
#include "calibrate/histogram.h"

namespace bitsweep {

/// The affine grid with the least expected squared error over the histogram, where values outside
/// the grid count three times. Source: spec of the reference, section 5.2.
AffineEncoding tf_enhanced_encoding(const Histogram& histogram, const AffineOptions& options);

}  // namespace bitsweep
