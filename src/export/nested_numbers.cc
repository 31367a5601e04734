#include "export/nested_numbers.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace bitsweep::exporting {
namespace {

bool append(const nlohmann::json& value, std::size_t depth, NestedNumbers& out) {
  if (!value.is_array()) {
    if (!value.is_number() || depth != out.shape.size()) return false;
    out.values.push_back(value.get<double>());
    return std::isfinite(out.values.back());
  }
  if (depth >= out.shape.size() || static_cast<std::int64_t>(value.size()) != out.shape[depth])
    return false;
  for (const nlohmann::json& item : value) {
    if (!append(item, depth + 1, out)) return false;
  }
  return true;
}

}  // namespace

std::optional<NestedNumbers> nested_numbers(const nlohmann::json& value) {
  NestedNumbers result;
  for (const nlohmann::json* level = &value; level->is_array(); level = &level->front()) {
    if (level->empty()) return std::nullopt;
    result.shape.push_back(static_cast<std::int64_t>(level->size()));
  }
  if (!append(value, 0, result)) return std::nullopt;
  return result;
}

std::optional<NestedNumbers> dequantize(const NestedNumbers& x, const NestedNumbers& scale,
                                        const std::optional<NestedNumbers>& zero_point, int axis,
                                        int block_size) {
  if (zero_point && zero_point->shape != scale.shape) return std::nullopt;
  const int rank = static_cast<int>(x.shape.size());
  if (axis < 0) axis += rank;
  const bool per_tensor = scale.values.size() == 1;
  if (!per_tensor && (axis < 0 || axis >= rank)) return std::nullopt;
  Shape grid(x.shape.size(), 1);
  if (block_size > 0) {
    grid = x.shape;
    std::int64_t& blocks = grid[static_cast<std::size_t>(axis)];
    if (blocks % block_size != 0) return std::nullopt;
    blocks /= block_size;
    if (scale.shape != grid) return std::nullopt;
  } else if (!per_tensor) {
    grid[static_cast<std::size_t>(axis)] = x.shape[static_cast<std::size_t>(axis)];
    if (static_cast<std::int64_t>(scale.values.size()) != grid[static_cast<std::size_t>(axis)])
      return std::nullopt;
  }
  NestedNumbers result = x;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    std::size_t cell = 0;
    std::size_t rest = i;
    std::size_t stride = 1;
    for (int a = rank - 1; !per_tensor && a >= 0; --a) {
      const auto axis_index = static_cast<std::size_t>(a);
      std::size_t index = rest % static_cast<std::size_t>(x.shape[axis_index]);
      rest /= static_cast<std::size_t>(x.shape[axis_index]);
      if (block_size > 0 && a == axis) index /= static_cast<std::size_t>(block_size);
      if (grid[axis_index] > 1) cell += index * stride;
      stride *= static_cast<std::size_t>(grid[axis_index]);
    }
    const double zero = zero_point ? zero_point->values[cell] : 0.0;
    result.values[i] = (x.values[i] - zero) * scale.values[cell];
  }
  return result;
}

std::optional<NestedNumbers> multiply(const NestedNumbers& a, const NestedNumbers& b) {
  NestedNumbers result = a;
  for (std::size_t axis = 0; axis < a.shape.size(); ++axis) {
    if (b.shape[axis] != 1 && b.shape[axis] != a.shape[axis]) return std::nullopt;
  }
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    std::size_t rest = i;
    std::size_t stride = 1;
    std::size_t other = 0;
    for (std::size_t axis = a.shape.size(); axis-- > 0;) {
      const std::size_t index = rest % static_cast<std::size_t>(a.shape[axis]);
      rest /= static_cast<std::size_t>(a.shape[axis]);
      if (b.shape[axis] != 1) other += index * stride;
      stride *= static_cast<std::size_t>(b.shape[axis]);
    }
    result.values[i] *= b.values[other];
  }
  return result;
}

}  // namespace bitsweep::exporting
