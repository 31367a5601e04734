#pragma once

#include "bitsweep/encoding.h"
#include "calibrate/histogram.h"

namespace bitsweep {

/// The clipping threshold whose quantized histogram is nearest to the clipped one by
/// Kullback-Leibler divergence. Source: Migacz 2017, 8-bit Inference with TensorRT; here for any
/// grid, one-sided data included.
AffineEncoding entropy_encoding(const Histogram& histogram, const AffineOptions& options);

}  // namespace bitsweep
