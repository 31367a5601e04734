#pragma once

#include "bitsweep/encoding.h"
#include "bitsweep/format.h"
#include "quant/kernels/fake_quant.h"

namespace bitsweep {

/// Layout of an 8-bit float. Source: Micikevicius et al. 2022, FP8 Formats for Deep Learning,
/// table 1.
kernels::Float8Layout float8_layout(Format::Kind kind);

/// Scale that maps the largest magnitude of [min, max] to the largest value of the format; offset
/// 0.
AffineEncoding make_float8_encoding(double min, double max, Format::Kind kind);

}  // namespace bitsweep
