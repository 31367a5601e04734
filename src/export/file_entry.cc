#include "export/file_entry.h"

#include <algorithm>
#include <cmath>

namespace bitsweep::exporting {
namespace {

bool all_offsets(const FileEntry& entry, double offset) {
  return std::all_of(entry.cells.begin(), entry.cells.end(),
                     [&](const AffineEncoding& cell) { return cell.offset == offset; });
}

}  // namespace

std::string kind_name(EntryKind kind) {
  switch (kind) {
    case EntryKind::kPerTensor:
      return "PER_TENSOR";
    case EntryKind::kPerChannel:
      return "PER_CHANNEL";
    case EntryKind::kPerBlock:
      return "PER_BLOCK";
    case EntryKind::kLpbq:
      return "LPBQ";
  }
  return "";
}

bool is_strictly_symmetric(const FileEntry& entry) {
  if (!entry.symmetric || !entry.format.is_integer()) return false;
  const double first = 1.0 - std::ldexp(1.0, entry.format.bitwidth - 1);
  return std::ranges::all_of(entry.cells,
                             [&](const AffineEncoding& cell) { return cell.offset == first; });
}

bool has_symmetric_offsets(const FileEntry& entry) {
  const double middle = std::ldexp(1.0, entry.format.bitwidth - 1);
  return all_offsets(entry, -middle) || all_offsets(entry, 1.0 - middle) || all_offsets(entry, 0.0);
}

void complete_entry(FileEntry& entry) {
  const int bits = entry.format.bitwidth;
  if (!entry.format.is_integer()) {
    const double largest = entry.format.kind == Format::Kind::kFloat8E5M2 ? 57344.0 : 448.0;
    for (AffineEncoding& cell : entry.cells) {
      cell.min = -cell.delta * largest;
      cell.max = cell.delta * largest;
    }
    return;
  }
  // The range in 0.6.1 has a code that a strictly symmetric grid leaves out.
  const bool strict = is_strictly_symmetric(entry);
  if (entry.has_range && !strict) return;
  const double steps = std::ldexp(1.0, bits) - (strict ? 2.0 : 1.0);
  for (AffineEncoding& cell : entry.cells) {
    cell.min = cell.delta * cell.offset;
    cell.max = cell.delta * (steps + cell.offset);
  }
}

std::size_t channel_of(const FileEntry& entry, std::size_t cell) {
  if (entry.channel_axis < 0) return 0;
  const auto axis = static_cast<std::size_t>(entry.channel_axis);
  std::size_t stride = 1;
  for (std::size_t a = axis + 1; a < entry.grid.size(); ++a)
    stride *= static_cast<std::size_t>(entry.grid[a]);
  return cell / stride % static_cast<std::size_t>(entry.grid[axis]);
}

LpbqScales lpbq_scales(const FileEntry& entry) {
  LpbqScales result;
  result.channel.assign(
      static_cast<std::size_t>(entry.grid[static_cast<std::size_t>(entry.channel_axis)]), 0.0);
  for (std::size_t i = 0; i < entry.cells.size(); ++i) {
    double& largest = result.channel[channel_of(entry, i)];
    largest = std::max(largest, entry.cells[i].delta);
  }
  for (double& scale : result.channel) scale = std::ldexp(scale, -entry.scale_bits);
  for (std::size_t i = 0; i < entry.cells.size(); ++i) {
    result.block.push_back(
        std::llround(entry.cells[i].delta / result.channel[channel_of(entry, i)]));
  }
  return result;
}

}  // namespace bitsweep::exporting
