#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "export/file_entry.h"

namespace bitsweep::exporting {

struct EncodingsDocument {
  std::string version;
  std::vector<FileEntry> entries;
  bool version_2() const { return version.starts_with("2."); }
};

/// Parses the text of an encodings file of version 0.6.1, 1.0.0, 2.0.0 or 2.1.0; a file without
/// "version" is told by its sections. `file` is used in messages.
/// @throws Error(kInvalidData) naming the entry: not JSON, unknown version, missing or foreign
/// fields, wrong lengths, scales that are not positive and finite, zero points outside the grid, a
/// name twice.
EncodingsDocument read_entries(std::string_view text, const std::string& file);

}  // namespace bitsweep::exporting
