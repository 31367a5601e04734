#pragma once

#include <string>
#include <vector>

#include "bitsweep/qdq_export.h"
#include "export/file_entry.h"

namespace bitsweep::exporting {

/// An operator that multiplies by a weight, by names of tensors.
struct WeightUse {
  std::string weight;
  std::string op_type;
  std::string activation;  ///< that decides the grid of its input; empty: that is in float
};

/// Applies what a target asks of the entries of a model: changes those that can be changed without
/// calibrating again, and says for each tensor what was done or why it can't be.
/// @throws Error(kInvalidArgument) for an unknown profile, naming the known ones.
std::vector<ProfileNote> apply_profile(const std::string& profile, std::vector<FileEntry>& entries,
                                       const std::vector<WeightUse>& uses = {});

}  // namespace bitsweep::exporting
