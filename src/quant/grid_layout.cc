#include "quant/grid_layout.h"

#include <fmt/core.h>

#include <string>
#include <string_view>

#include "bitsweep/error.h"

namespace bitsweep {
namespace {

void check(const Granularity& g, std::span<const std::int64_t> shape, std::string_view tensor) {
  const auto refuse = [&](const std::string& what, const std::string& fix) {
    throw Error(ErrorCode::kInvalidArgument,
                tensor.empty() ? "granularity" : fmt::format("granularity of \"{}\"", tensor), what,
                fix);
  };
  const int rank = static_cast<int>(shape.size());
  if (g.per_tensor() && g.blockwise())
    refuse("blocks need a channel axis", "set channel_axis, or block_size 0");
  if (g.channel_axis >= rank) {
    refuse(fmt::format("channel axis {} does not exist in a tensor of shape {}", g.channel_axis,
                       shape_text(shape)),
           fmt::format("give an axis below {}", rank));
  }
  if (!g.blockwise()) return;
  if (g.block_axis < 0 || g.block_axis >= rank || g.block_axis == g.channel_axis) {
    refuse(fmt::format("block axis {} does not fit channel axis {} of shape {}", g.block_axis,
                       g.channel_axis, shape_text(shape)),
           "give another axis of the tensor");
  }
  const std::int64_t dim = shape[static_cast<std::size_t>(g.block_axis)];
  if (dim % g.block_size != 0) {
    refuse(fmt::format("block size {} does not divide dimension {} of shape {}", g.block_size, dim,
                       shape_text(shape)),
           fmt::format("choose a divisor of {}", dim));
  }
}

}  // namespace

Shape grid_shape(const Granularity& granularity, std::span<const std::int64_t> shape,
                 std::string_view tensor) {
  check(granularity, shape, tensor);
  if (granularity.per_tensor()) return {};
  Shape grid(shape.size(), 1);
  const auto channel = static_cast<std::size_t>(granularity.channel_axis);
  grid[channel] = shape[channel];
  if (granularity.blockwise()) {
    const auto block = static_cast<std::size_t>(granularity.block_axis);
    grid[block] = shape[block] / granularity.block_size;
  }
  return grid;
}

GridLayout::GridLayout(const Granularity& granularity, std::span<const std::int64_t> shape) {
  check(granularity, shape, {});
  size_ = num_elements(shape);
  if (granularity.per_tensor()) {
    row_length_ = run_length_ = std::max<std::int64_t>(size_, 1);
    return;
  }
  const auto channel = static_cast<std::size_t>(granularity.channel_axis);
  std::size_t last = channel;
  std::int64_t last_block = 1;
  if (granularity.blockwise()) {
    const auto block = static_cast<std::size_t>(granularity.block_axis);
    last = std::max(channel, block);
    const std::size_t outer = std::min(channel, block);
    last_block = last == block ? granularity.block_size : 1;
    outer_block_ = outer == block ? granularity.block_size : 1;
    outer_dim_ = shape[outer];
    outer_cells_ = outer_dim_ / outer_block_;
    rows_per_index_ = num_elements(shape.subspan(outer + 1, last - outer - 1));
  }
  const std::int64_t inner = num_elements(shape.subspan(last + 1));
  run_length_ = last_block * inner;
  row_length_ = shape[last] * inner;
  cells_per_row_ = shape[last] / last_block;
}

}  // namespace bitsweep
