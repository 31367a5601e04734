#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "bitsweep/tensor.h"

namespace bitsweep::exporting {

/// Numbers in lists of equal length, row-major; the shape is empty for a plain number.
struct NestedNumbers {
  Shape shape;
  std::vector<double> values;
};

/// Nothing when the lists are ragged or empty, or something in them is no finite number.
std::optional<NestedNumbers> nested_numbers(const nlohmann::json& value);

/// Element-wise product; `b` has the rank of `a`, and 1 where it does not vary. Nothing when the
/// shapes do not fit.
std::optional<NestedNumbers> multiply(const NestedNumbers& a, const NestedNumbers& b);

/// DequantizeLinear(x, scale, zero_point): per tensor, along `axis`, or in blocks along it. Nothing
/// when the shapes do not fit.
std::optional<NestedNumbers> dequantize(const NestedNumbers& x, const NestedNumbers& scale,
                                        const std::optional<NestedNumbers>& zero_point, int axis,
                                        int block_size);

}  // namespace bitsweep::exporting
