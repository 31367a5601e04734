// The loops of fake_quant_reference.cc in a form that the compiler turns into vector code, compiled
// once per instruction set. BITSWEEP_ISA names the namespace. No standard header beyond <cstddef>
// and <cstdint>: an inline function built here for AVX may be the copy that the linker keeps for
// everyone.
#include "quant/kernels/fake_quant.h"

// `y` may equal `x`, which the compiler would otherwise guard against by a scalar loop.
#if defined(__clang__)
#define BITSWEEP_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define BITSWEEP_VECTORIZE _Pragma("GCC ivdep")
#endif

namespace bitsweep::kernels::BITSWEEP_ISA {
namespace {

constexpr float kTwoPow23 = 8388608.0F;  // from here on every float is an integer
constexpr int kMagnitude = 0x7FFFFFFF;
constexpr int kInfinity = 0x7F800000;

inline int bits_of(float x) { return __builtin_bit_cast(int, x); }
inline float float_of(int bits) { return __builtin_bit_cast(float, bits); }

// The bits of some NaN overflow, which only unsigned numbers may.
inline int add(int a, int b) {
  return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
}

inline float clamp_keep_nan(float x, float low, float high) {
  const float v = x > high ? high : x;
  return v < low ? low : v;
}

inline float truncate(float v) {
#if defined(__SSE4_1__) || !defined(__x86_64__)
  return __builtin_truncf(v);
#else
  // Only values that fit go through the integer, so the conversion is defined for NaN and for
  // 32-bit grids too.
  const bool fits = __builtin_fabsf(v) < kTwoPow23;
  const float through = static_cast<float>(static_cast<int>(fits ? v : 0.0F));
  return fits ? through : v;
#endif
}

// Half away from zero. Adding 0.5 itself is wrong for 0.49999997 (the sum rounds to 1); with the
// float just below 0.5 the sum reaches the next integer for exact halves only, by rounding to even.
inline float round_half_away(float v) { return truncate(v + __builtin_copysignf(0.49999997F, v)); }

inline float code_of(float x, float min, float max, float delta, float offset) {
  return round_half_away(clamp_keep_nan(x, min, max) / delta - offset);
}

inline float affine(float x, float min, float max, float delta, float offset) {
  return delta * (code_of(x, min, max, delta, offset) + offset);
}

void fake_quant(const float* x, float* y, std::size_t n, const AffineGrid& grid) {
  const float min = grid.min;
  const float max = grid.max;
  const float delta = grid.delta;
  const float offset = grid.offset;
  BITSWEEP_VECTORIZE
  for (std::size_t i = 0; i < n; ++i) y[i] = affine(x[i], min, max, delta, offset);
}

void fake_quant_row(const float* x, float* y, std::size_t n, const AffineRow& grids) {
  const float* min = grids.min;
  const float* max = grids.max;
  const float* delta = grids.delta;
  const float* offset = grids.offset;
  BITSWEEP_VECTORIZE
  for (std::size_t i = 0; i < n; ++i) y[i] = affine(x[i], min[i], max[i], delta[i], offset[i]);
}

// Four rows side by side: reading the grids takes as long as all else.
void fake_quant_rows(const float* x, float* y, std::size_t num_rows, std::size_t stride,
                     std::size_t n, const AffineRow& grids) {
  constexpr std::size_t kAtOnce = 4;
  const float* mins = grids.min;
  const float* maxs = grids.max;
  const float* deltas = grids.delta;
  const float* offsets = grids.offset;
  std::size_t r = 0;
  for (; r + kAtOnce <= num_rows; r += kAtOnce) {
    const float* x0 = x + r * stride;
    const float* x1 = x0 + stride;
    const float* x2 = x1 + stride;
    const float* x3 = x2 + stride;
    float* y0 = y + r * stride;
    float* y1 = y0 + stride;
    float* y2 = y1 + stride;
    float* y3 = y2 + stride;
    BITSWEEP_VECTORIZE
    for (std::size_t i = 0; i < n; ++i) {
      const float min = mins[i];
      const float max = maxs[i];
      const float delta = deltas[i];
      const float offset = offsets[i];
      y0[i] = affine(x0[i], min, max, delta, offset);
      y1[i] = affine(x1[i], min, max, delta, offset);
      y2[i] = affine(x2[i], min, max, delta, offset);
      y3[i] = affine(x3[i], min, max, delta, offset);
    }
  }
  for (; r < num_rows; ++r) fake_quant_row(x + r * stride, y + r * stride, n, grids);
}

void fake_quant_runs(const float* x, float* y, std::size_t num_runs, std::size_t run_length,
                     const AffineRow& grids) {
  for (std::size_t r = 0; r < num_runs; ++r) {
    fake_quant(x + r * run_length, y + r * run_length, run_length,
               {grids.min[r], grids.max[r], grids.delta[r], grids.offset[r]});
  }
}

void encode(const float* x, std::int32_t* codes, std::size_t n, const AffineGrid& grid,
            std::int32_t code_of_nan) {
  const float min = grid.min;
  const float max = grid.max;
  const float delta = grid.delta;
  const float offset = grid.offset;
  const auto nan = static_cast<float>(code_of_nan);
  BITSWEEP_VECTORIZE
  for (std::size_t i = 0; i < n; ++i) {
    const float code = code_of(x[i], min, max, delta, offset);
    codes[i] = static_cast<std::int32_t>(code == code ? code : nan);
  }
}

inline float to_float16(float x) {
  const int sign = bits_of(x) & ~kMagnitude;
  const int magnitude = bits_of(x) & kMagnitude;
  // Normal halves: round the mantissa to 10 bits, ties to even.
  int rounded = add(magnitude, 0xFFF + ((magnitude >> 13) & 1)) & ~0x1FFF;
  rounded = rounded >= 0x47800000 ? kInfinity : rounded;  // 65536 and beyond
  // Subnormal halves are multiples of 2^-24: adding 0.5 rounds there in hardware.
  const int small = bits_of((float_of(magnitude) + 0.5F) - 0.5F);
  rounded = magnitude < 0x38800000 ? small : rounded;
  // A quiet NaN with an empty payload, as the half conversion leaves it.
  rounded = magnitude > kInfinity ? 0x7FC00000 : rounded;
  return float_of(sign | rounded);
}

void cast_float16(const float* x, float* y, std::size_t n) {
  BITSWEEP_VECTORIZE
  for (std::size_t i = 0; i < n; ++i) y[i] = to_float16(x[i]);
}

inline float to_bfloat16(float x) {
  const int bits = bits_of(x);
  const int magnitude = bits & kMagnitude;
  const int rounded = add(magnitude, 0x7FFF + ((magnitude >> 16) & 1)) & ~0xFFFF;
  const int nan = (magnitude & ~0xFFFF) | 0x400000;
  return float_of((bits & ~kMagnitude) | (magnitude > kInfinity ? nan : rounded));
}

void cast_bfloat16(const float* x, float* y, std::size_t n) {
  BITSWEEP_VECTORIZE
  for (std::size_t i = 0; i < n; ++i) y[i] = to_bfloat16(x[i]);
}

inline float wide_float16(std::uint16_t bits) {
  const int sign = (bits & 0x8000) << 16;
  const int magnitude = bits & 0x7FFF;
  // The exponent moves from bias 15 to bias 127; infinity and NaN move to the top.
  const int shifted = (magnitude << 13) + (magnitude >= 0x7C00 ? 224 << 23 : 112 << 23);
  // Subnormal: the mantissa under an exponent of its own, minus that exponent; no subnormal float32
  // is met on the way.
  const float small = float_of((magnitude << 13) | 0x38800000) - 0x1p-14F;
  return float_of(sign | (magnitude < 0x400 ? bits_of(small) : shifted));
}

inline std::uint16_t narrow_float16_value(float x) {
  const int rounded = bits_of(to_float16(x));
  const int magnitude = rounded & kMagnitude;
  int bits = (magnitude - (112 << 23)) >> 13;
  // Subnormal: a multiple of 2^-24, which the sum with 0.5 moves to the end of the mantissa.
  bits = magnitude < 0x38800000 ? bits_of(float_of(magnitude) + 0.5F) - 0x3F000000 : bits;
  bits = magnitude == kInfinity ? 0x7C00 : bits;
  bits = magnitude > kInfinity ? 0x7E00 : bits;
  return static_cast<std::uint16_t>(bits | ((rounded >> 16) & 0x8000));
}

void widen_float16(const std::uint16_t* x, float* y, std::size_t n) {
  BITSWEEP_VECTORIZE
  for (std::size_t i = 0; i < n; ++i) y[i] = wide_float16(x[i]);
}

void narrow_float16(const float* x, std::uint16_t* y, std::size_t n) {
  BITSWEEP_VECTORIZE
  for (std::size_t i = 0; i < n; ++i) y[i] = narrow_float16_value(x[i]);
}

void widen_bfloat16(const std::uint16_t* x, float* y, std::size_t n) {
  BITSWEEP_VECTORIZE
  for (std::size_t i = 0; i < n; ++i)
    y[i] = float_of(static_cast<int>(static_cast<unsigned>(x[i]) << 16));
}

void narrow_bfloat16(const float* x, std::uint16_t* y, std::size_t n) {
  BITSWEEP_VECTORIZE
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = static_cast<std::uint16_t>(static_cast<unsigned>(bits_of(to_bfloat16(x[i]))) >> 16);
  }
}

inline float float8_value(float x, float scale, float largest, int mantissa_bits,
                          int min_exponent) {
  const float v = clamp_keep_nan(x / scale, -largest, largest);
  int exponent = ((bits_of(v) & kMagnitude) >> 23) - 127;
  exponent = exponent < min_exponent ? min_exponent : exponent;
  const float step = float_of((exponent - mantissa_bits + 127) << 23);
  const float inverse = float_of((mantissa_bits - exponent + 127) << 23);  // exact: a power of two
  // Adding 2^23 rounds to an integer, ties to even. NaN ends as NaN whatever its step is.
  const float steps = (__builtin_fabsf(v * inverse) + kTwoPow23) - kTwoPow23;
  const float rounded = __builtin_copysignf(steps, v) * step * scale;
  return v == v ? rounded : v;
}

void float8(const float* x, float* y, std::size_t n, float scale, const Float8Layout& layout) {
  const float largest = layout.largest;
  const int mantissa_bits = layout.mantissa_bits;
  const int min_exponent = layout.min_exponent;
  BITSWEEP_VECTORIZE
  for (std::size_t i = 0; i < n; ++i)
    y[i] = float8_value(x[i], scale, largest, mantissa_bits, min_exponent);
}

void float8_row(const float* x, float* y, std::size_t n, const float* scales,
                const Float8Layout& layout) {
  const float largest = layout.largest;
  const int mantissa_bits = layout.mantissa_bits;
  const int min_exponent = layout.min_exponent;
  BITSWEEP_VECTORIZE
  for (std::size_t i = 0; i < n; ++i)
    y[i] = float8_value(x[i], scales[i], largest, mantissa_bits, min_exponent);
}

std::size_t min_max_row(const float* x, std::size_t n, float* low, float* high) {
  std::size_t not_finite = 0;
  BITSWEEP_VECTORIZE
  for (std::size_t i = 0; i < n; ++i) {
    const bool finite = (bits_of(x[i]) & kMagnitude) < kInfinity;
    const float v = x[i] + 0.0F;
    const float below = finite ? v : low[i];
    const float above = finite ? v : high[i];
    low[i] = below < low[i] ? below : low[i];
    high[i] = above > high[i] ? above : high[i];
    not_finite += finite ? 0U : 1U;
  }
  return not_finite;
}

// A minimum over floats is not vectorized by the compiler (order of NaN and zeros), so the lanes
// are written out. Minimum and maximum are exact: the order of the elements does not matter.
// One register of this instruction set: GCC 12 splits the selects of wider vectors into scalars.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif
typedef float Floats __attribute__((vector_size(kVectorBytes)));
typedef int Ints __attribute__((vector_size(kVectorBytes)));
constexpr std::size_t kLanes = sizeof(Floats) / sizeof(float);
constexpr std::size_t kFlush = std::size_t{1}
                               << 20;  // vectors between flushes of the 32-bit lane counters

std::size_t min_max(const float* x, std::size_t n, float* low, float* high) {
  const Floats zero = {};
  Floats lowest = zero + *low;
  Floats highest = zero + *high;
  std::size_t not_finite = 0;
  std::size_t i = 0;
  while (i + kLanes <= n) {
    const std::size_t vectors = (n - i) / kLanes;
    const std::size_t stop = i + (vectors < kFlush ? vectors : kFlush) * kLanes;
    Ints finite_count = {};
    for (; i < stop; i += kLanes) {
      Floats v;
      __builtin_memcpy(&v, x + i, sizeof(v));
      Ints bits;
      __builtin_memcpy(&bits, &v, sizeof(bits));
      const Ints finite = (bits & kMagnitude) < kInfinity;  // lanes of -1 and 0
      finite_count -= finite;
      v = v + zero;
      const Floats below = finite ? v : lowest;
      const Floats above = finite ? v : highest;
      lowest = below < lowest ? below : lowest;
      highest = above > highest ? above : highest;
    }
    // Counted from the lanes that were finite, hence by subtraction.
    not_finite += (vectors < kFlush ? vectors : kFlush) * kLanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      not_finite -= static_cast<std::size_t>(finite_count[lane]);
  }
  // Halves folded onto each other: short inputs spend most of their time here.
  float lows[kLanes];
  float highs[kLanes];
  __builtin_memcpy(lows, &lowest, sizeof(lows));
  __builtin_memcpy(highs, &highest, sizeof(highs));
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) {
      lows[lane] = lows[lane + half] < lows[lane] ? lows[lane + half] : lows[lane];
      highs[lane] = highs[lane + half] > highs[lane] ? highs[lane + half] : highs[lane];
    }
  }
  *low = lows[0];
  *high = highs[0];
  for (; i < n; ++i) not_finite += min_max_row(x + i, 1, low, high);
  return not_finite;
}

struct Add {
  static float of(float a, float b) { return a + b; }
};
struct Subtract {
  static float of(float a, float b) { return a - b; }
};
struct Multiply {
  static float of(float a, float b) { return a * b; }
};
struct Divide {
  static float of(float a, float b) { return a / b; }
};
struct Maximum {
  static float of(float a, float b) { return a < b ? b : a; }
};
struct Minimum {
  static float of(float a, float b) { return b < a ? b : a; }
};

// Loops of their own for scalars, which the compiler then keeps in a register.
template <typename Op>
void arithmetic_of(Operand a, Operand b, float* y, std::size_t n) {
  const float* x = a.data;
  const float* z = b.data;
  if (a.is_scalar) {
    const float first = *x;
    BITSWEEP_VECTORIZE
    for (std::size_t i = 0; i < n; ++i) y[i] = Op::of(first, z[i]);
  } else if (b.is_scalar) {
    const float second = *z;
    BITSWEEP_VECTORIZE
    for (std::size_t i = 0; i < n; ++i) y[i] = Op::of(x[i], second);
  } else {
    BITSWEEP_VECTORIZE
    for (std::size_t i = 0; i < n; ++i) y[i] = Op::of(x[i], z[i]);
  }
}

void arithmetic(Arithmetic op, Operand a, Operand b, float* y, std::size_t n) {
  switch (op) {
    case Arithmetic::kAdd:
      return arithmetic_of<Add>(a, b, y, n);
    case Arithmetic::kSubtract:
      return arithmetic_of<Subtract>(a, b, y, n);
    case Arithmetic::kMultiply:
      return arithmetic_of<Multiply>(a, b, y, n);
    case Arithmetic::kDivide:
      return arithmetic_of<Divide>(a, b, y, n);
    case Arithmetic::kMaximum:
      return arithmetic_of<Maximum>(a, b, y, n);
    case Arithmetic::kMinimum:
      return arithmetic_of<Minimum>(a, b, y, n);
  }
}

#define BITSWEEP_TEXT_OF(name) #name
#define BITSWEEP_TEXT(name) BITSWEEP_TEXT_OF(name)

}  // namespace

extern const KernelTable kTable;
const KernelTable kTable = {
    .name = BITSWEEP_TEXT(BITSWEEP_ISA),
    .fake_quant = fake_quant,
    .fake_quant_row = fake_quant_row,
    .fake_quant_rows = fake_quant_rows,
    .fake_quant_runs = fake_quant_runs,
    .encode = encode,
    .cast_float16 = cast_float16,
    .cast_bfloat16 = cast_bfloat16,
    .widen_float16 = widen_float16,
    .widen_bfloat16 = widen_bfloat16,
    .narrow_float16 = narrow_float16,
    .narrow_bfloat16 = narrow_bfloat16,
    .float8 = float8,
    .float8_row = float8_row,
    .min_max = min_max,
    .min_max_row = min_max_row,
    .arithmetic = arithmetic,
};

}  // namespace bitsweep::kernels::BITSWEEP_ISA
