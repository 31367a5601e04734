#pragma once

#include <string>
#include <vector>

#include "bitsweep/qdq_export.h"
#include "export/file_entry.h"

namespace bitsweep::exporting {

/// Applies what a target asks of the entries of a model: changes those that can be changed without
/// calibrating again, and says for each tensor what was done or why it can't be.
/// @throws Error(kInvalidArgument) for an unknown profile, naming the known ones.
std::vector<ProfileNote> apply_profile(const std::string& profile, std::vector<FileEntry>& entries);

}  // namespace bitsweep::exporting
