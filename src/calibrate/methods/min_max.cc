#include "calibrate/methods/min_max.h"

#include <algorithm>
#include <limits>

#include "bitsweep/error.h"
#include "calibrate/cell_values.h"
#include "calibrate/observer_errors.h"

namespace bitsweep {

MinMaxObserver::MinMaxObserver(const Granularity& granularity, const Shape& shape)
    : granularity_(granularity) {
  const auto num_cells = static_cast<std::size_t>(num_elements(grid_shape(granularity, shape)));
  low_.assign(num_cells, std::numeric_limits<float>::infinity());
  high_.assign(num_cells, -std::numeric_limits<float>::infinity());
}

void MinMaxObserver::observe(const float* values, const Shape& shape) {
  const GridLayout layout(granularity_, shape);
  check_num_cells(layout.num_cells(), low_.size(), shape);
  count(values, layout.size(), merge_min_max(layout, values, low_, high_));
}

bool MinMaxObserver::only_zeros() const {
  // A cell that saw nothing has infinite bounds, the wrong way round.
  const auto not_above = [](float bound) { return bound <= 0.0F; };
  const auto not_below = [](float bound) { return bound >= 0.0F; };
  return std::all_of(high_.begin(), high_.end(), not_above) &&
         std::all_of(low_.begin(), low_.end(), not_below);
}

std::vector<AffineEncoding> MinMaxObserver::encodings(const AffineOptions& options) const {
  if (!has_data()) throw_no_data(num_values_);
  std::vector<AffineEncoding> cells;
  cells.reserve(low_.size());
  for (std::size_t i = 0; i < low_.size(); ++i) {
    const bool empty = low_[i] > high_[i];
    cells.push_back(make_encoding(empty ? 0.0 : low_[i], empty ? 0.0 : high_[i], options));
  }
  return cells;
}

}  // namespace bitsweep
