#pragma once

#include <string>
#include <vector>

#include "bitsweep/encodings_file.h"
#include "export/file_entry.h"

namespace bitsweep::exporting {

/// What a version of encodings files can't say of these entries.
std::vector<EncodingsLoss> losses(const std::vector<FileEntry>& entries,
                                  const std::string& version);

}  // namespace bitsweep::exporting
