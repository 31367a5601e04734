// The readable loops that define the right answer; the SIMD files must match them bit for bit.
#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "quant/kernels/fake_quant.h"

namespace bitsweep::kernels {
namespace {

// Not std::clamp or fmin: these comparisons are false for NaN, so NaN passes through.
float clamp_keep_nan(float x, float low, float high) {
  const float v = x > high ? high : x;
  return v < low ? low : v;
}

float code_of(float x, float min, float max, float delta, float offset) {
  // Divide: x * (1 / delta) rounds some exact half steps differently. The offset goes before the
  // rounding, so that ties are decided on the non-negative grid: -0.5 steps round up to 0, as 0.5
  // steps round up to 1.
  return std::round(clamp_keep_nan(x, min, max) / delta - offset);
}

float affine(float x, float min, float max, float delta, float offset) {
  return delta * (code_of(x, min, max, delta, offset) + offset);
}

void fake_quant(const float* x, float* y, std::size_t n, const AffineGrid& grid) {
  for (std::size_t i = 0; i < n; ++i)
    y[i] = affine(x[i], grid.min, grid.max, grid.delta, grid.offset);
}

void fake_quant_row(const float* x, float* y, std::size_t n, const AffineRow& g) {
  for (std::size_t i = 0; i < n; ++i)
    y[i] = affine(x[i], g.min[i], g.max[i], g.delta[i], g.offset[i]);
}

void fake_quant_rows(const float* x, float* y, std::size_t num_rows, std::size_t stride,
                     std::size_t n, const AffineRow& grids) {
  for (std::size_t r = 0; r < num_rows; ++r)
    fake_quant_row(x + r * stride, y + r * stride, n, grids);
}

void fake_quant_runs(const float* x, float* y, std::size_t num_runs, std::size_t run_length,
                     const AffineRow& g) {
  for (std::size_t r = 0; r < num_runs; ++r) {
    fake_quant(x + r * run_length, y + r * run_length, run_length,
               {g.min[r], g.max[r], g.delta[r], g.offset[r]});
  }
}

void encode(const float* x, std::int32_t* codes, std::size_t n, const AffineGrid& grid,
            std::int32_t code_of_nan) {
  for (std::size_t i = 0; i < n; ++i) {
    const float code = code_of(x[i], grid.min, grid.max, grid.delta, grid.offset);
    codes[i] = std::isnan(code) ? code_of_nan : static_cast<std::int32_t>(code);
  }
}

void cast_float16(const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = half_to_float(float_to_half(x[i]));
}

void cast_bfloat16(const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = bfloat16_to_float(float_to_bfloat16(x[i]));
}

float float8_value(float x, float scale, const Float8Layout& layout) {
  const float v = clamp_keep_nan(x / scale, -layout.largest, layout.largest);
  if (v == 0.0F || std::isnan(v)) return v * scale;
  const int exponent = std::max(std::ilogb(v), layout.min_exponent);
  const float step = std::ldexp(1.0F, exponent - layout.mantissa_bits);
  return std::nearbyint(v / step) * step * scale;
}

void float8(const float* x, float* y, std::size_t n, float scale, const Float8Layout& layout) {
  for (std::size_t i = 0; i < n; ++i) y[i] = float8_value(x[i], scale, layout);
}

void float8_row(const float* x, float* y, std::size_t n, const float* scales,
                const Float8Layout& layout) {
  for (std::size_t i = 0; i < n; ++i) y[i] = float8_value(x[i], scales[i], layout);
}

std::size_t min_max_row(const float* x, std::size_t n, float* low, float* high) {
  std::size_t not_finite = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) {
      ++not_finite;
      continue;
    }
    // Adding zero turns -0.0 into +0.0: the result must not depend on the order of the elements.
    low[i] = std::min(low[i], x[i] + 0.0F);
    high[i] = std::max(high[i], x[i] + 0.0F);
  }
  return not_finite;
}

std::size_t min_max(const float* x, std::size_t n, float* low, float* high) {
  std::size_t not_finite = 0;
  for (std::size_t i = 0; i < n; ++i) not_finite += min_max_row(x + i, 1, low, high);
  return not_finite;
}

float compute(Arithmetic op, float a, float b) {
  switch (op) {
    case Arithmetic::kAdd:
      return a + b;
    case Arithmetic::kSubtract:
      return a - b;
    case Arithmetic::kMultiply:
      return a * b;
    case Arithmetic::kDivide:
      return a / b;
    case Arithmetic::kMaximum:
      return a < b ? b : a;
    case Arithmetic::kMinimum:
      break;
  }
  return b < a ? b : a;
}

void arithmetic(Arithmetic op, Operand a, Operand b, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    y[i] = compute(op, a.data[a.is_scalar ? 0 : i], b.data[b.is_scalar ? 0 : i]);
}

}  // namespace

extern const KernelTable kReferenceKernels;
const KernelTable kReferenceKernels = {
    .name = "reference",
    .fake_quant = fake_quant,
    .fake_quant_row = fake_quant_row,
    .fake_quant_rows = fake_quant_rows,
    .fake_quant_runs = fake_quant_runs,
    .encode = encode,
    .cast_float16 = cast_float16,
    .cast_bfloat16 = cast_bfloat16,
    .widen_float16 = half_to_float,
    .widen_bfloat16 = bfloat16_to_float,
    .narrow_float16 = float_to_half,
    .narrow_bfloat16 = float_to_bfloat16,
    .float8 = float8,
    .float8_row = float8_row,
    .min_max = min_max,
    .min_max_row = min_max_row,
    .arithmetic = arithmetic,
};

}  // namespace bitsweep::kernels
