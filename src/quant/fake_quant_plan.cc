#include "quant/fake_quant_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "bitsweep/error.h"
#include "quant/formats/float8.h"
#include "quant/kernels/quantize_linear.h"

namespace bitsweep {
namespace {

// Shorter runs than this go through the kernel that takes one grid per element.
constexpr std::int64_t kShortRun = 32;
// Elements handled at once where grids are spread out or 16-bit floats widened: the buffers stay in
// the first cache.
constexpr std::int64_t kChunk = 1024;
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
  if (!format_.is_integer() || !per_tensor() || rounding_ != Rounding::kSimulation) return 0;
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
  const std::int64_t run_length = layout.run_length();
  if (run_length >= kShortRun || layout.num_cells() == 1) {
    layout.for_each_run(begin, end, [&](std::int64_t cell, std::int64_t first, std::int64_t count) {
      process_one_grid(in + (first - begin), out + (first - begin), static_cast<std::size_t>(count),
                       static_cast<std::size_t>(cell));
    });
    return;
  }
  layout.for_each_row(
      begin, end,
      [&](std::int64_t cell, std::int64_t column, std::int64_t first, std::int64_t count) {
        if (run_length == 1) {
          process_row(in + (first - begin), out + (first - begin), static_cast<std::size_t>(count),
                      static_cast<std::size_t>(cell + column));
        } else {
          process_short_runs(in + (first - begin), out + (first - begin), count, cell, column,
                             run_length);
        }
      });
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
      rounding_ == Rounding::kSimulation ? table.fake_quant : kernels::quantize_linear;
  function(in, out, n, grid_of(cell));
}

void FakeQuantPlan::process_row(const float* in, float* out, std::size_t n,
                                std::size_t first_cell) const {
  process_cells(in, out, n,
                {&min_[first_cell], &max_[first_cell], &delta_[first_cell], &offset_[first_cell]});
}

// One grid per element.
void FakeQuantPlan::process_cells(const float* in, float* out, std::size_t n,
                                  const kernels::AffineRow& grids) const {
  if (!format_.is_integer()) {
    kernels::kernels().float8_row(in, out, n, grids.delta, float8_);
    return;
  }
  const kernels::FakeQuantRowFn function = rounding_ == Rounding::kSimulation
                                               ? kernels::kernels().fake_quant_row
                                               : kernels::quantize_linear_row;
  function(in, out, n, grids);
}

void FakeQuantPlan::process_short_runs(const float* in, float* out, std::int64_t n,
                                       std::int64_t first_cell, std::int64_t column,
                                       std::int64_t run_length) const {
  std::array<float, kChunk> min;
  std::array<float, kChunk> max;
  std::array<float, kChunk> delta;
  std::array<float, kChunk> offset;
  std::int64_t cell = first_cell + column / run_length;
  std::int64_t left = run_length - column % run_length;  // elements until the next cell
  for (std::int64_t done = 0; done < n;) {
    const std::int64_t count = std::min(n - done, kChunk);
    for (std::int64_t i = 0; i < count;) {
      const std::int64_t stop = std::min(count, i + left);
      const auto c = static_cast<std::size_t>(cell);
      left -= stop - i;
      for (; i < stop; ++i) {
        const auto k = static_cast<std::size_t>(i);
        min[k] = min_[c];
        max[k] = max_[c];
        delta[k] = delta_[c];
        offset[k] = offset_[c];
      }
      if (left == 0) {
        ++cell;
        left = run_length;
      }
    }
    process_cells(in + done, out + done, static_cast<std::size_t>(count),
                  {min.data(), max.data(), delta.data(), offset.data()});
    done += count;
  }
}

}  // namespace bitsweep
