#pragma once

#include "bitsweep/encoding.h"
#include "calibrate/histogram.h"

namespace bitsweep {

/// The range inside [min, max] of the data whose grid has the least expected squared error over the
/// histogram.
AffineEncoding mse_encoding(const Histogram& histogram, const AffineOptions& options);

}  // namespace bitsweep
