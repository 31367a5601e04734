#include "calibrate/cell_values.h"

#include <algorithm>

#include "quant/kernels/fake_quant.h"

namespace bitsweep {

std::int64_t merge_min_max(const GridLayout& layout, const float* values, std::vector<float>& low,
                           std::vector<float>& high) {
  const kernels::KernelTable& table = kernels::kernels();
  std::size_t not_finite = 0;
  if (layout.run_length() == 1) {
    layout.for_each_row(
        0, layout.size(),
        [&](std::int64_t cell, std::int64_t column, std::int64_t first, std::int64_t count) {
          const auto c = static_cast<std::size_t>(cell + column);
          not_finite +=
              table.min_max_row(values + first, static_cast<std::size_t>(count), &low[c], &high[c]);
        });
  } else {
    layout.for_each_run(
        0, layout.size(), [&](std::int64_t cell, std::int64_t first, std::int64_t count) {
          const auto c = static_cast<std::size_t>(cell);
          not_finite +=
              table.min_max(values + first, static_cast<std::size_t>(count), &low[c], &high[c]);
        });
  }
  return static_cast<std::int64_t>(not_finite);
}

CellValues::CellValues(const GridLayout& layout, const float* values)
    : first_(values), per_cell_(layout.size() / layout.num_cells()) {
  if (layout.num_cells() == 1) return;
  gathered_.resize(static_cast<std::size_t>(layout.size()));
  std::vector<std::int64_t> next(static_cast<std::size_t>(layout.num_cells()));
  for (std::size_t cell = 0; cell < next.size(); ++cell)
    next[cell] = static_cast<std::int64_t>(cell) * per_cell_;
  layout.for_each_run(0, layout.size(),
                      [&](std::int64_t cell, std::int64_t first, std::int64_t count) {
                        std::int64_t& to = next[static_cast<std::size_t>(cell)];
                        std::copy_n(values + first, count, gathered_.begin() + to);
                        to += count;
                      });
  first_ = gathered_.data();
}

}  // namespace bitsweep
