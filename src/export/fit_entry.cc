#include "export/fit_entry.h"

#include <fmt/format.h>

#include "bitsweep/error.h"
#include "quant/grid_layout.h"

namespace bitsweep::exporting {
namespace {

[[noreturn]] void fail(const FileEntry& entry, const std::string& what) {
  throw Error(ErrorCode::kInvalidData, "encodings",
              fmt::format("the entry of \"{}\" {}", entry.name, what),
              "load a file that was written for this model");
}

// Grid of the tensor with these axes; an entry that asks for impossible ones is refused.
Shape grid_of(const FileEntry& entry, const Granularity& granularity, const Shape& shape) {
  const int rank = static_cast<int>(shape.size());
  if (granularity.channel_axis >= rank || granularity.block_axis >= rank) {
    fail(entry,
         fmt::format("names an axis that a tensor of shape {} does not have", shape_text(shape)));
  }
  if (granularity.blockwise() &&
      shape[static_cast<std::size_t>(granularity.block_axis)] % granularity.block_size != 0) {
    fail(entry, fmt::format("has blocks of {}, which do not divide the shape {}",
                            granularity.block_size, shape_text(shape)));
  }
  return grid_shape(granularity, shape);
}

// Channel axis of the target: the one in use, or the one that per channel would use.
int channel_axis(const Quantizer& q) {
  return q.granularity().per_tensor() ? q.possible_channel_axis() : q.granularity().channel_axis;
}

std::vector<AffineEncoding> ordered_cells(const FileEntry& entry, const Shape& grid, int channel) {
  if (!entry.channel_first || grid.size() != 2 || channel != 1) return entry.cells;
  const auto rows = static_cast<std::size_t>(grid[0]);
  const auto columns = static_cast<std::size_t>(grid[1]);
  std::vector<AffineEncoding> cells(entry.cells.size());
  for (std::size_t c = 0, next = 0; c < columns; ++c) {
    for (std::size_t r = 0; r < rows; ++r) cells[r * columns + c] = entry.cells[next++];
  }
  return cells;
}

// LPBQ of 1.0.0: deltas are multiples of the scale of their channel.
void scale_by_channel(const FileEntry& entry, Encoding& encoding) {
  FileEntry placed;
  placed.grid = encoding.grid;
  placed.channel_axis = encoding.granularity.channel_axis;
  if (static_cast<std::int64_t>(entry.channel_scales.size()) !=
      encoding.grid[static_cast<std::size_t>(placed.channel_axis)]) {
    fail(entry, fmt::format("has {} channel scales for a grid of shape {}",
                            entry.channel_scales.size(), shape_text(encoding.grid)));
  }
  const double steps = static_cast<double>((std::int64_t{1} << entry.format.bitwidth) - 1);
  for (std::size_t i = 0; i < encoding.cells.size(); ++i) {
    AffineEncoding& cell = encoding.cells[i];
    cell.delta *= entry.channel_scales[channel_of(placed, i)];
    cell.min = cell.delta * cell.offset;
    cell.max = cell.delta * (steps + cell.offset);
  }
}

}  // namespace

Encoding fit_entry(const FileEntry& entry, const Quantizer& q) {
  Encoding encoding{.format = entry.format, .granularity = {}, .grid = {}, .cells = entry.cells};
  if (entry.kind == EntryKind::kPerTensor) return encoding;
  const Shape& shape = q.tensor_shape();
  int channel = entry.channel_axis;
  if (entry.axis_from_end) {
    channel += static_cast<int>(shape.size());
  } else if (channel < 0) {
    channel = channel_axis(q);
  }
  if (shape.empty() || channel < 0)
    fail(entry, "has several scales, but its tensor has no channel axis");
  encoding.granularity.channel_axis = channel;
  if (entry.kind != EntryKind::kPerChannel) {
    encoding.granularity.block_axis =
        entry.block_axis >= 0 ? entry.block_axis : q.possible_block_axis();
    encoding.granularity.block_size = entry.block_size;
    if (encoding.granularity.block_axis < 0)
      fail(entry, "has blocks, but its tensor has no block axis");
    if (encoding.granularity.block_axis == channel)
      fail(entry, "has its blocks along the channel axis");
  }
  encoding.grid = grid_of(entry, encoding.granularity, shape);
  const auto cells = static_cast<std::int64_t>(entry.cells.size());
  if (num_elements(encoding.grid) != cells && entry.kind == EntryKind::kPerChannel &&
      entry.has_range && q.granularity().blockwise()) {
    // 0.6.1 lists blocks and channels alike.
    encoding.granularity = q.granularity();
    encoding.grid = grid_of(entry, encoding.granularity, shape);
  }
  const bool nested = entry.grid.size() > 1;
  if (num_elements(encoding.grid) != cells || (nested && entry.grid != encoding.grid)) {
    fail(entry,
         fmt::format(
             "has {} scales of shape {}, but its tensor of shape {} needs a grid of shape {}",
             cells, shape_text(entry.grid), shape_text(shape), shape_text(encoding.grid)));
  }
  encoding.cells = ordered_cells(entry, encoding.grid, channel);
  if (!entry.channel_scales.empty()) scale_by_channel(entry, encoding);
  return encoding;
}

}  // namespace bitsweep::exporting
