#include "quant/fake_quant_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "bitsweep/error.h"
#include "quant/formats/float8.h"
#include "quant/kernels/quantize_linear.h"

namespace bitsweep {
namespace {

// Shorter runs than the widest vector go through the kernel that takes one grid per element; and so
// do short rows with the same cells, several at once.
constexpr std::int64_t kShortRun = 16;
constexpr std::int64_t kShortRow = 1024;
// Elements handled at once where 16-bit floats are widened: the buffer stays in the first cache.
constexpr std::int64_t kChunk = 1024;
// Grids spread out at once: the buffers stay in the second cache.
constexpr std::int64_t kPattern = 4096;
// A table of as many floats stays in the first cache.
constexpr std::int32_t kMaxCodes = 4096;

[[noreturn]] void refuse(const std::string& what, const std::string& fix) {
  throw Error(ErrorCode::kInvalidArgument, "fake_quant", what, fix);
}

}  // namespace

FakeQuantPlan::FakeQuantPlan(const Encoding& encoding, Rounding rounding)
    : format_(encoding.format),
      rounding_(rounding),
      granularity_(encoding.granularity),
      grid_(encoding.grid) {
  if (!format_.needs_encoding())
    refuse("format " + format_.name() + " takes no encoding", "drop the encoding");
  if (!format_.is_integer()) float8_ = float8_layout(format_.kind);
  const auto num_cells = static_cast<std::size_t>(num_elements(grid_));
  if (encoding.cells.size() != num_cells) {
    refuse(fmt::format("an encoding has {} cells for a grid of shape {}", encoding.cells.size(),
                       shape_text(grid_)),
           fmt::format("give {}", num_cells));
  }
  for (std::vector<float>* column : {&min_, &max_, &delta_, &offset_}) column->reserve(num_cells);
  for (const AffineEncoding& cell : encoding.cells) {
    const auto delta = static_cast<float>(cell.delta);
    if (!(delta > 0.0F) || !std::isfinite(delta)) {
      refuse(fmt::format("an encoding has delta {}", cell.delta),
             "give a positive number that float32 can hold");
    }
    min_.push_back(static_cast<float>(cell.min));
    max_.push_back(static_cast<float>(cell.max));
    delta_.push_back(delta);
    offset_.push_back(static_cast<float>(cell.offset) +
                      0.0F);  // never -0.0: the kernels rely on it
  }
  num_codes_ = count_codes();
}

FakeQuantPlan::FakeQuantPlan(const Format& format) : format_(format) {
  if (format.needs_encoding())
    refuse("format " + format.name() + " needs an encoding", "calibrate or load one");
}

std::int32_t FakeQuantPlan::count_codes() const {
  if (!is_simulated_integer() || !per_tensor()) return 0;
  const auto code = [&](float x) { return std::round(x / delta_[0] - offset_[0]); };
  const float last = code(max_[0]);
  if (!(code(min_[0]) >= 0.0F) || !(last < static_cast<float>(kMaxCodes))) return 0;
  return static_cast<std::int32_t>(last) + 1;
}

void FakeQuantPlan::encode(const float* in, std::int32_t* codes, std::size_t n) const {
  kernels::kernels().encode(in, codes, n, grid_of(0), num_codes_);
}

std::vector<float> FakeQuantPlan::values_of_codes() const {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(num_codes_) + 1);
  for (std::int32_t code = 0; code < num_codes_; ++code)
    values.push_back(delta_[0] * (static_cast<float>(code) + offset_[0]));
  values.push_back(std::numeric_limits<float>::quiet_NaN());
  return values;
}

GridLayout FakeQuantPlan::layout(const Shape& shape) const {
  if (grid_ != grid_shape(granularity_, shape)) {
    refuse(fmt::format("an encoding grid of shape {} does not fit a tensor of shape {}",
                       shape_text(grid_), shape_text(shape)),
           "calibrate again with this shape");
  }
  return GridLayout(granularity_, shape);
}

void FakeQuantPlan::apply(const float* in, float* out, const Shape& shape) const {
  apply_range(in, out, shape, 0, num_elements(shape));
}

void FakeQuantPlan::apply_range(const float* in, float* out, const Shape& shape, std::int64_t begin,
                                std::int64_t end) const {
  apply_piece(in + begin, out + begin, shape, begin, end);
}

void FakeQuantPlan::apply_piece(const float* in, float* out, const Shape& shape, std::int64_t begin,
                                std::int64_t end) const {
  if (begin >= end) return;
  const auto n = static_cast<std::size_t>(end - begin);
  // One grid for all elements fits any shape: most quantizers, and looking at shapes takes as long
  // as a small tensor.
  if (per_tensor()) {
    process_one_grid(in, out, n, 0);
  } else {
    process_grids(layout(shape), in, out, begin, end);
  }
}

void FakeQuantPlan::apply_typed(DataType type, const void* in, void* out, const Shape& shape,
                                std::int64_t begin, std::int64_t end) const {
  if (!is_quantizable_type(type)) {
    refuse("elements of type " + std::string(data_type_name(type)) + " cannot be fake-quantized",
           "quantize float32, float16 or bfloat16 tensors only");
  }
  if (begin >= end) return;
  if (type == DataType::kFloat) {
    apply_range(static_cast<const float*>(in), static_cast<float*>(out), shape, begin, end);
    return;
  }
  const auto* from = static_cast<const std::uint16_t*>(in);
  auto* to = static_cast<std::uint16_t*>(out);
  const bool half = type == DataType::kFloat16;
  const Format::Kind same = half ? Format::Kind::kFloat16 : Format::Kind::kBfloat16;
  if (format_.kind == same || format_.kind == Format::Kind::kFloat32) {
    if (from != to)
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(*to));
    return;
  }
  const kernels::KernelTable& table = kernels::kernels();
  std::array<float, kChunk> buffer;
  for (std::int64_t i = begin; i < end; i += kChunk) {
    const std::int64_t stop = std::min(end, i + kChunk);
    const auto n = static_cast<std::size_t>(stop - i);
    (half ? table.widen_float16 : table.widen_bfloat16)(from + i, buffer.data(), n);
    apply_piece(buffer.data(), buffer.data(), shape, i, stop);
    (half ? table.narrow_float16 : table.narrow_bfloat16)(buffer.data(), to + i, n);
  }
}

void FakeQuantPlan::process_grids(const GridLayout& layout, const float* in, float* out,
                                  std::int64_t begin, std::int64_t end) const {
  const bool short_rows =
      layout.row_length() < kShortRow && layout.row_length() < layout.band_length();
  if (layout.num_cells() == 1 || (layout.run_length() >= kShortRun && !short_rows)) {
    layout.for_each_row(
        begin, end,
        [&](std::int64_t cell, std::int64_t column, std::int64_t first, std::int64_t count) {
          process_runs(in + (first - begin), out + (first - begin), count, cell, column,
                       layout.run_length());
        });
    return;
  }
  for (std::int64_t first = begin; first < end;) {
    const std::int64_t stop =
        std::min(end, (first / layout.band_length() + 1) * layout.band_length());
    process_band(layout, in + (first - begin), out + (first - begin), first, stop);
    first = stop;
  }
}

// `n` elements of a row from `column` on; the cells of the row begin at `first_cell`.
void FakeQuantPlan::process_runs(const float* in, float* out, std::int64_t n,
                                 std::int64_t first_cell, std::int64_t column,
                                 std::int64_t run_length) const {
  auto cell = static_cast<std::size_t>(first_cell + column / run_length);
  const auto process = [&](std::int64_t count) {
    process_one_grid(in, out, static_cast<std::size_t>(count), cell++);
    in += count;
    out += count;
    n -= count;
  };
  if (column % run_length != 0) process(std::min(n, run_length - column % run_length));
  if (is_simulated_integer()) {
    const auto num_runs = static_cast<std::size_t>(n / run_length);
    const std::int64_t whole = n - n % run_length;
    kernels::kernels().fake_quant_runs(in, out, num_runs, static_cast<std::size_t>(run_length),
                                       row_of(cell));
    cell += num_runs;
    in += whole;
    out += whole;
    n -= whole;
  }
  while (n > 0) process(std::min(n, run_length));
}

void FakeQuantPlan::process_one_grid(const float* in, float* out, std::size_t n,
                                     std::size_t cell) const {
  const kernels::KernelTable& table = kernels::kernels();
  switch (format_.kind) {
    case Format::Kind::kFloat32:
      if (in != out) std::memcpy(out, in, n * sizeof(float));
      return;
    case Format::Kind::kFloat16:
      table.cast_float16(in, out, n);
      return;
    case Format::Kind::kBfloat16:
      table.cast_bfloat16(in, out, n);
      return;
    case Format::Kind::kFloat8E4M3FN:
    case Format::Kind::kFloat8E5M2:
      table.float8(in, out, n, delta_[cell], float8_);
      return;
    case Format::Kind::kInt:
      break;
  }
  const kernels::FakeQuantFn function =
      is_simulated_integer() ? table.fake_quant : kernels::quantize_linear;
  function(in, out, n, grid_of(cell));
}

// Rows `stride` apart of `n` elements, one grid per element of a row.
void FakeQuantPlan::process_rows(const float* in, float* out, std::int64_t num_rows,
                                 std::int64_t stride, std::int64_t n,
                                 const kernels::AffineRow& grids) const {
  const kernels::KernelTable& table = kernels::kernels();
  const auto count = static_cast<std::size_t>(n);
  if (is_simulated_integer()) {
    table.fake_quant_rows(in, out, static_cast<std::size_t>(num_rows),
                          static_cast<std::size_t>(stride), count, grids);
    return;
  }
  for (std::int64_t row = 0; row < num_rows; ++row, in += stride, out += stride) {
    if (format_.is_integer()) {
      kernels::quantize_linear_row(in, out, count, grids);
    } else {
      table.float8_row(in, out, count, grids.delta, float8_);
    }
  }
}

// Grids of a stretch of a row, one per element.
struct FakeQuantPlan::Pattern {
  std::array<float, kPattern> min;
  std::array<float, kPattern> max;
  std::array<float, kPattern> delta;
  std::array<float, kPattern> offset;
};

// Elements [begin, end), all in rows with the same cells. The grids of a stretch of the row are
// spread out once and used in every row; short rows are taken several at once.
void FakeQuantPlan::process_band(const GridLayout& layout, const float* in, float* out,
                                 std::int64_t begin, std::int64_t end) const {
  const std::int64_t row_length = layout.row_length();
  const std::int64_t first_row = begin / row_length * row_length;
  const std::int64_t num_rows = (end - first_row + row_length - 1) / row_length;
  const std::int64_t period =
      row_length * std::min(num_rows, std::max<std::int64_t>(1, kPattern / row_length));
  const std::int64_t cell = layout.row_cell(begin / row_length);
  Pattern pattern;
  for (std::int64_t column = 0; column < period; column += kPattern) {
    const std::int64_t width = std::min(kPattern, period - column);
    std::optional<kernels::AffineRow> grids;
    for (std::int64_t base = first_row + column; base < end;) {
      const std::int64_t first = std::max(base, begin);
      const std::int64_t stop = std::min(base + width, end);
      // As many whole stretches as follow each other.
      const bool whole = first == base && stop == base + width;
      const std::int64_t count = whole ? (end - stop) / period + 1 : 1;
      if (first < stop) {
        if (!grids) grids = spread_grids(layout, cell, column, width, pattern);
        const std::int64_t skipped = first - base;
        process_rows(in + (first - begin), out + (first - begin), count, period, stop - first,
                     {grids->min + skipped, grids->max + skipped, grids->delta + skipped,
                      grids->offset + skipped});
      }
      base += count * period;
    }
  }
}

// Of `width` elements from `column` on; behind the end of the row it begins anew.
kernels::AffineRow FakeQuantPlan::spread_grids(const GridLayout& layout, std::int64_t first_cell,
                                               std::int64_t column, std::int64_t width,
                                               Pattern& to) const {
  const std::int64_t run_length = layout.run_length();
  const std::int64_t row_length = layout.row_length();
  if (run_length == 1 && column + width <= row_length)
    return row_of(static_cast<std::size_t>(first_cell + column));
  for (std::int64_t i = 0; i < width;) {
    const std::int64_t run = column / run_length;
    const std::int64_t stop = std::min(width, i + (run + 1) * run_length - column);
    const auto cell = static_cast<std::size_t>(first_cell + run);
    column = (column + stop - i) % row_length;
    for (; i < stop; ++i) {
      const auto k = static_cast<std::size_t>(i);
      to.min[k] = min_[cell];
      to.max[k] = max_[cell];
      to.delta[k] = delta_[cell];
      to.offset[k] = offset_[cell];
    }
  }
  return {to.min.data(), to.max.data(), to.delta.data(), to.offset.data()};
}

}  // namespace bitsweep
