#pragma once

#include <cstddef>
#include <cstdint>

// Plain signatures only: these files are compiled once per instruction set, so no inline function
// may leak out. In every function `y` may equal `x`; any other overlap is not allowed. No pointer
// needs an alignment.
namespace bitsweep::kernels {

/// Affine grid of one cell in float32: y = delta * (round_half_away(clamp(x, min, max) / delta -
/// offset) + offset). `offset` must not be -0.0, so that a rounded zero is +0.0 on every path.
struct AffineGrid {
  float min;
  float max;
  float delta;
  float offset;
};

/// One grid per element, or per run of elements: four arrays of as many numbers.
struct AffineRow {
  const float* min;
  const float* max;
  const float* delta;
  const float* offset;
};

/// An 8-bit float: largest value, bits of the mantissa and exponent of the smallest normal value.
struct Float8Layout {
  float largest;
  int mantissa_bits;
  int min_exponent;
};

/// y[i] = grid(x[i]) for i in [0, n). NaN stays NaN (a difference from the reference
/// implementation, which turns NaN into the minimum of the range); infinities saturate.
using FakeQuantFn = void (*)(const float* x, float* y, std::size_t n, const AffineGrid& grid);
/// The same with grid i for element i.
using FakeQuantRowFn = void (*)(const float* x, float* y, std::size_t n, const AffineRow& grids);

/// `num_rows` rows of `n` elements, `stride` elements apart, with grid i for element i of each.
using FakeQuantRowsFn = void (*)(const float* x, float* y, std::size_t num_rows, std::size_t stride,
                                 std::size_t n, const AffineRow& grids);

/// `num_runs` runs of `run_length` elements side by side, with grid i for all elements of run i.
using FakeQuantRunsFn = void (*)(const float* x, float* y, std::size_t num_runs,
                                 std::size_t run_length, const AffineRow& grids);

/// The whole number that fake_quant multiplies by delta, less the offset: code[i] =
/// round_half_away(clamp(x[i], min, max) / delta - offset), or `code_of_nan`. For grids of codes in
/// [0, 2^23).
using EncodeFn = void (*)(const float* x, std::int32_t* codes, std::size_t n,
                          const AffineGrid& grid, std::int32_t code_of_nan);

/// Rounds to a 16-bit float and back, to nearest even; overflow gives infinity.
using CastFn = void (*)(const float* x, float* y, std::size_t n);

/// Bits of 16-bit floats to floats and back, to nearest even; overflow gives infinity.
using WidenFn = void (*)(const std::uint16_t* x, float* y, std::size_t n);
using NarrowFn = void (*)(const float* x, std::uint16_t* y, std::size_t n);

/// y = round_half_even(clamp(x / scale, -largest, largest) / step) * step * scale, step = spacing
/// of the format there.
using Float8Fn = void (*)(const float* x, float* y, std::size_t n, float scale,
                          const Float8Layout& layout);
using Float8RowFn = void (*)(const float* x, float* y, std::size_t n, const float* scales,
                             const Float8Layout& layout);

/// Lowest and highest finite value of x[0..n) merged into *low and *high; returns how many values
/// were not finite.
using MinMaxFn = std::size_t (*)(const float* x, std::size_t n, float* low, float* high);
/// Merges x[i] into low[i] and high[i]; returns how many values were not finite.
using MinMaxRowFn = std::size_t (*)(const float* x, std::size_t n, float* low, float* high);

/// Arithmetic of ONNX operators, element by element, with the bits of ONNX Runtime: maximum is
/// a < b ? b : a and minimum b < a ? b : a, so that a NaN or -0.0 in `a` stays.
enum class Arithmetic : std::uint8_t { kAdd, kSubtract, kMultiply, kDivide, kMaximum, kMinimum };

/// As many floats as the result has, or one for all of its elements.
struct Operand {
  const float* data;
  bool is_scalar;
};

/// y[i] = a[i] op b[i] for i in [0, n). `y` may equal either operand.
using ArithmeticFn = void (*)(Arithmetic op, Operand a, Operand b, float* y, std::size_t n);

struct KernelTable {
  const char* name;
  FakeQuantFn fake_quant;
  FakeQuantRowFn fake_quant_row;
  FakeQuantRowsFn fake_quant_rows;
  FakeQuantRunsFn fake_quant_runs;
  EncodeFn encode;
  CastFn cast_float16;
  CastFn cast_bfloat16;
  WidenFn widen_float16;
  WidenFn widen_bfloat16;
  NarrowFn narrow_float16;
  NarrowFn narrow_bfloat16;
  Float8Fn float8;
  Float8RowFn float8_row;
  MinMaxFn min_max;
  MinMaxRowFn min_max_row;
  ArithmeticFn arithmetic;
};

/// The best table of this CPU; BITSWEEP_FORCE_ISA=reference|sse2|avx2|avx512 pins one.
/// @throws Error(kInvalidArgument) when the pinned one is unknown or this CPU cannot run it.
const KernelTable& kernels();

/// Every table this CPU can run, from the reference to the best.
const KernelTable* const* available_kernels(std::size_t* count);

}  // namespace bitsweep::kernels
