#pragma once

#include <string>
#include <vector>

#include "export/file_entry.h"

namespace bitsweep::exporting {

/// Defaults of the whole simulation, which 0.6.1 and 1.0.0 repeat in their header.
struct QuantizerArgs {
  std::string scheme;
  Format parameter_format;
  Format activation_format;
  bool symmetric = false;
  bool per_channel = false;
};

/// JSON text of the entries in the given version, keys sorted, indented by 4.
/// @throws Error(kInvalidArgument) for an unknown version or an entry that it can't say.
std::string write_entries(const std::vector<FileEntry>& entries, const QuantizerArgs& args,
                          const std::string& version);

/// "uint8", "int4", "float8e4m3fn": the type of the codes.
std::string code_type(const FileEntry& entry);
/// Minus the offset, on the grid of the code type.
std::int64_t zero_point(const FileEntry& entry, std::size_t cell);

}  // namespace bitsweep::exporting
