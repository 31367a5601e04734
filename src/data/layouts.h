#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "bitsweep/data.h"

namespace bitsweep::data {

/// Recognises how samples lie in a file or folder (see open_samples) and opens them.
std::unique_ptr<DataSource> open_layout(const std::filesystem::path& path,
                                        const std::vector<ValueInfo>& inputs,
                                        const DataOptions& options);

/// ONNX test data: `sets` are folders with input_*.pb, one sample each.
std::unique_ptr<DataSource> open_test_data(const std::vector<std::filesystem::path>& sets,
                                           const std::vector<ValueInfo>& inputs,
                                           const DataOptions& options);

/// Entries of a folder in natural order of their names: "set_2" comes before "set_10".
/// @throws Error(kIo).
std::vector<std::filesystem::path> sorted_entries(const std::filesystem::path& folder);

}  // namespace bitsweep::data
