#include "quant/kernels/quantize_linear.h"

#include <algorithm>
#include <cmath>

namespace bitsweep::kernels {
namespace {

float affine(float x, float min, float max, float delta) {
  const float low = std::nearbyint(min / delta);  // smallest code minus zero point
  const float high = std::nearbyint(max / delta);
  // NaN takes the lowest code, as in ONNX Runtime; the standard leaves it open. Adding zero turns
  // -0.0 into +0.0, as the way through integers does.
  const float steps = std::isnan(x) ? low : std::clamp(x / delta, low, high);
  return (std::nearbyint(steps) + 0.0F) * delta;
}

}  // namespace

void quantize_linear(const float* x, float* y, std::size_t n, const AffineGrid& grid) {
  for (std::size_t i = 0; i < n; ++i) y[i] = affine(x[i], grid.min, grid.max, grid.delta);
}

void quantize_linear_row(const float* x, float* y, std::size_t n, const AffineRow& grids) {
  for (std::size_t i = 0; i < n; ++i)
    y[i] = affine(x[i], grids.min[i], grids.max[i], grids.delta[i]);
}

}  // namespace bitsweep::kernels
