#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bitsweep/export.h"
#include "bitsweep/format.h"
#include "bitsweep/tensor.h"

namespace BITSWEEP_EXPORT bitsweep {

/// How many encodings a tensor has: one (axis absent), one per channel, or one per block along a
/// second axis.
struct Granularity {
  int channel_axis = -1;  ///< -1: per tensor
  int block_axis = -1;    ///< -1: no blocks
  int block_size = 0;     ///< elements per block along block_axis; 0: no blocks

  bool per_tensor() const { return channel_axis < 0; }
  bool blockwise() const { return block_size > 0; }
  bool operator==(const Granularity&) const = default;
};

/// Affine map of one grid cell between reals and integers: real = delta * (q + offset), q in [0,
/// N].
///
/// Units: `min`, `max`, `delta` in tensor units; `delta` > 0 is one integer step; `offset` is an
/// integer <= 0, minus the zero point on the unsigned grid. For 8-bit floats `delta` is the scale
/// and `offset` 0. Source: Jacob et al. 2018, Integer-Arithmetic-Only Inference, eq. 1.
struct AffineEncoding {
  double min = 0.0;
  double max = 0.0;
  double delta = 1.0;
  double offset = 0.0;
  bool operator==(const AffineEncoding&) const = default;
};

/// Encodings of one tensor: `cells` in row-major order over the encoding grid.
///
/// Shapes: `grid` is empty per tensor; else it has the tensor's rank, with dim(axis) on the channel
/// axis, the number of blocks on the block axis and 1 elsewhere.
struct Encoding {
  Format format;
  Granularity granularity;
  Shape grid;
  std::vector<AffineEncoding> cells;
  bool operator==(const Encoding&) const = default;
};

/// Settings that decide how a range becomes an encoding.
struct AffineOptions {
  int bitwidth = 8;
  bool symmetric = false;           ///< zero point fixed in the middle of the grid
  bool strict_symmetric = false;    ///< drops the most negative code; only with symmetric
  bool unsigned_symmetric = false;  ///< offset 0 when no value is negative; only with symmetric
  double zero_point_shift =
      0.0;  ///< 0 or 0.5 steps; only 2-bit symmetric, not strict, not unsigned
};

/// Smallest encoding of the grid that covers [min, max] and represents 0 exactly.
/// @throws Error(kInvalidArgument) when a bound is NaN, min > max, or the options exclude one
/// another.
AffineEncoding make_encoding(double min, double max, const AffineOptions& options);

}  // namespace BITSWEEP_EXPORT bitsweep
