#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bitsweep/encoding.h"

namespace bitsweep::exporting {

/// How the cells of an entry cover its tensor, with the word of version 1.0.0.
enum class EntryKind { kPerTensor, kPerChannel, kPerBlock, kLpbq };
std::string kind_name(EntryKind kind);

/// One entry of an encodings file, the same for all versions.
///
/// Cells lie row-major over `grid`. What a version does not say is -1, 0 or empty: 0.6.1 and 1.0.0
/// name no axes, and their `grid` is the plain number of cells.
struct FileEntry {
  std::string name;
  bool parameter = false;
  Format format;  ///< of the codes; the compressed one for LPBQ
  bool symmetric = false;
  bool signed_codes = false;  ///< grid that version 2 and QDQ name; the others are always unsigned
  bool sign_changed = false;  ///< not the sign that goes with the symmetry
  EntryKind kind = EntryKind::kPerTensor;
  int channel_axis = -1;
  bool axis_from_end = false;  ///< channel_axis is negative and counts from the last axis
  int block_axis = -1;
  int block_size = 0;
  int scale_bits = 0;  ///< LPBQ
  /// Cells of a 2-D grid in 1.0.0 are in the order (channel, block), wherever the axes are.
  bool channel_first = false;
  Shape grid;
  std::vector<AffineEncoding>
      cells;               ///< offset on the unsigned grid; empty for formats without encoding
  bool has_range = false;  ///< min and max come from the file, else from scale and offset
  /// Nodes that read this grid, where the readers of a shared bias need different ones; empty: all.
  /// QDQ models only.
  std::vector<int> readers;
  bool two_bit_type = false;  ///< QDQ models only: codes of 2 bits are not carried by 4
  /// LPBQ read from 1.0.0: deltas are multiples of these until the axes are known.
  std::vector<double> channel_scales;
};

/// One code less than the width allows, so that the grid is as long on both sides of zero.
bool is_strictly_symmetric(const FileEntry& entry);
/// Whether the zero points are those of a symmetric grid.
bool has_symmetric_offsets(const FileEntry& entry);
/// Fills in the ranges that follow from scale and offset, where the source does not say them.
void complete_entry(FileEntry& entry);

/// Scale of LPBQ: per channel a float, per block a multiple of it.
struct LpbqScales {
  std::vector<double> channel;      ///< by index on the channel axis
  std::vector<std::int64_t> block;  ///< by cell
};
LpbqScales lpbq_scales(const FileEntry& entry);

/// Index on the channel axis of a cell; 0 per tensor.
std::size_t channel_of(const FileEntry& entry, std::size_t cell);

}  // namespace bitsweep::exporting
