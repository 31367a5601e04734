#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "quant/grid_layout.h"

namespace bitsweep {

/// Merges the finite values of every cell into low[cell] and high[cell]; returns how many values
/// were not finite.
std::int64_t merge_min_max(const GridLayout& layout, const float* values, std::vector<float>& low,
                           std::vector<float>& high);

/// The values of every cell side by side. Without a copy when the tensor is one cell.
class CellValues {
 public:
  CellValues(const GridLayout& layout, const float* values);

  std::span<const float> cell(std::int64_t index) const {
    return {first_ + index * per_cell_, static_cast<std::size_t>(per_cell_)};
  }

 private:
  std::vector<float> gathered_;
  const float* first_;
  std::int64_t per_cell_;
};

}  // namespace bitsweep
