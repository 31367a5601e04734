#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bitsweep/tensor.h"

namespace bitsweep::graph {

/// Scale, zero point and axis of a QuantizeLinear or DequantizeLinear.
struct QdqParameters {
  Tensor scale;
  std::optional<Tensor> zero_point;
  DataType code_type = DataType::kUint8;
  int axis = 1;
  int block_size = 0;

  /// Bit by bit; a missing zero point is one of zeros.
  bool operator==(const QdqParameters& other) const;
  /// As many as scales, or those that are given.
  std::vector<std::int64_t> zero_points() const;
};

/// Why so many scales do not fit codes of this shape; nullopt when they do.
std::optional<std::string> misfit(const QdqParameters& parameters, std::size_t num_scales,
                                  const Shape& codes);

/// The values of codes, in the type of the scale. `scales` stand for those of the parameters, which
/// they may extend to double; they fit. Each value is rounded once, as a product of two float32 is.
Tensor dequantize(const QdqParameters& parameters, const Tensor& codes,
                  const std::vector<double>& scales);

/// Floats in float16 or bfloat16; the same for float.
Tensor narrowed(const Tensor& wide, DataType type);

/// Whole numbers of an integer tensor of 2 to 64 bits, packed ones included.
std::vector<std::int64_t> whole_numbers(const Tensor& tensor);

}  // namespace bitsweep::graph
