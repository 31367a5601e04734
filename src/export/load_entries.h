#pragma once

#include <string>
#include <vector>

#include "bitsweep/encodings_file.h"
#include "export/read_entries.h"

namespace bitsweep::exporting {

/// What load_encodings() does once the file is read; `source` names it in messages.
std::vector<EncodingMismatch> load_entries(Simulation& simulation, EncodingsDocument document,
                                           const std::string& source,
                                           const LoadEncodingsOptions& options);

}  // namespace bitsweep::exporting
