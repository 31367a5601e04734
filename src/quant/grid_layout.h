#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "bitsweep/encoding.h"
#include "bitsweep/tensor.h"

namespace bitsweep {

/// Where the cells of an encoding grid lie in a dense row-major tensor.
///
/// A grid varies along two axes at most. Seen flat, the tensor is a sequence of *rows* (up to and
/// including the last varying axis); a row is a sequence of *runs* of equal length, one cell each;
/// the other varying axis picks which cells the row uses.
class GridLayout {
 public:
  /// @throws Error(kInvalidArgument) when an axis is out of range or the block size does not divide
  /// its dimension.
  GridLayout(const Granularity& granularity, std::span<const std::int64_t> shape);

  std::int64_t num_cells() const { return cells_per_row_ * outer_cells_; }
  std::int64_t size() const { return size_; }
  /// Elements of one cell that lie side by side.
  std::int64_t run_length() const { return run_length_; }
  std::int64_t row_length() const { return row_length_; }
  std::int64_t cells_per_row() const { return cells_per_row_; }
  /// Elements of the rows that follow each other with the same cells.
  std::int64_t band_length() const {
    return outer_cells_ == 1 ? size_ : rows_per_index_ * outer_block_ * row_length_;
  }
  /// First cell of row r.
  std::int64_t row_cell(std::int64_t row) const {
    return row / rows_per_index_ % outer_dim_ / outer_block_ * cells_per_row_;
  }

  /// Calls f(first_cell, column, first, count) for every piece of a row inside the flat range
  /// [begin, end): `count` elements from flat index `first`, which is column `column` of a row
  /// whose cells start at `first_cell`.
  template <typename F>
  void for_each_row(std::int64_t begin, std::int64_t end, F&& f) const {
    while (begin < end) {
      const std::int64_t row = begin / row_length_;
      const std::int64_t column = begin - row * row_length_;
      const std::int64_t count = std::min(end - begin, row_length_ - column);
      f(row_cell(row), column, begin, count);
      begin += count;
    }
  }

  /// Calls f(cell, first, count) for every piece of a run inside the flat range [begin, end).
  template <typename F>
  void for_each_run(std::int64_t begin, std::int64_t end, F&& f) const {
    for_each_row(
        begin, end,
        [&](std::int64_t cell, std::int64_t column, std::int64_t first, std::int64_t count) {
          while (count > 0) {
            const std::int64_t run = column / run_length_;
            const std::int64_t length = std::min(count, (run + 1) * run_length_ - column);
            f(cell + run, first, length);
            column += length;
            first += length;
            count -= length;
          }
        });
  }

 private:
  std::int64_t size_ = 1;
  std::int64_t row_length_ = 1;
  std::int64_t run_length_ = 1;
  std::int64_t cells_per_row_ = 1;
  std::int64_t rows_per_index_ = 1;  // rows for which the outer varying axis keeps its index
  std::int64_t outer_dim_ = 1;
  std::int64_t outer_block_ = 1;
  std::int64_t outer_cells_ = 1;
};

/// Shape of the encoding grid: empty per tensor; else the rank of the tensor with 1 on the axes
/// that do not vary.
Shape grid_shape(const Granularity& granularity, std::span<const std::int64_t> shape,
                 std::string_view tensor = {});

}  // namespace bitsweep
