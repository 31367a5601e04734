#pragma once

#include <cstddef>

#include "quant/kernels/fake_quant.h"

namespace bitsweep::kernels {

/// The grids of fake_quant as QuantizeLinear and DequantizeLinear of ONNX compute them: rounded to
/// even before the zero point is added. The result differs where the simulation rounds a half step,
/// or what the offset makes one in float32, and at NaN. Plain loops: for checks of exported models.
void quantize_linear(const float* x, float* y, std::size_t n, const AffineGrid& grid);
void quantize_linear_row(const float* x, float* y, std::size_t n, const AffineRow& grids);

}  // namespace bitsweep::kernels
