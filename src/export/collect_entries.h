#pragma once

#include <optional>
#include <vector>

#include "bitsweep/encodings_file.h"
#include "export/file_entry.h"

namespace bitsweep::exporting {

struct CollectOptions {
  bool int32_bias = false;
  bool loaded_bias = false;  ///< int32 biases that were read from a file, whatever int32_bias says
  /// Adds tensors that carry the grid of another one because only data movement lies between.
  bool derived = false;
  /// Shared biases whose readers need different scales, an entry per reader.
  bool per_reader = false;
  bool constants_keep_sign = false;  ///< activation_sign is for what is computed only
  ActivationSign activation_sign = ActivationSign::kUnsigned;
};

/// Entries of all enabled quantizers in the order of the quantizer table, each bias behind its
/// weight, then what is derived.
/// @throws Error(kNotReady) when an enabled quantizer has no encoding.
std::vector<FileEntry> collect_entries(const Simulation& simulation, const CollectOptions& options);

}  // namespace bitsweep::exporting
