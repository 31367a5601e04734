#pragma once

#include <cstddef>

// Plain signatures only: these files are compiled once per instruction set, so no inline function may leak out.
namespace bitsweep::kernels {

/// Affine grid of one cell in float32: y = delta * (round_half_away(clamp(x, min, max) / delta - offset) + offset).
struct AffineGrid {
  float min;
  float max;
  float delta;
  float offset;
};

/// y[i] = grid(x[i]) for i in [0, n); y may equal x. NaN stays NaN (a difference from the reference implementation,
/// which turns NaN into the minimum of the range); infinities saturate.
using FakeQuantFn = void (*)(const float* x, float* y, std::size_t n, const AffineGrid& grid);

/// Lowest and highest finite value of x[0..n) merged into *low and *high; returns how many values were not finite.
using MinMaxFn = std::size_t (*)(const float* x, std::size_t n, float* low, float* high);

struct KernelTable {
  const char* name;
  FakeQuantFn fake_quant;
  MinMaxFn min_max;
};

/// The best table of this CPU; BITSWEEP_FORCE_ISA=reference|sse2|avx2|avx512 pins one.
const KernelTable& kernels();

/// Every table this CPU can run, the reference first.
const KernelTable* const* available_kernels(std::size_t* count);

}  // namespace bitsweep::kernels
