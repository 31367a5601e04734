#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "export/file_entry.h"
#include "export/read_entries.h"

namespace bitsweep::exporting {

/// ONNX Runtime's `TensorQuantOverrides` as JSON: tensor -> list of {quant_type, scale, zero_point,
/// axis}, one per channel; types by name ("QUInt8").
/// @throws Error(kInvalidArgument) for formats that they can't say: blocks, other widths than 4, 8
/// and 16.
std::string write_ort_overrides(const std::vector<FileEntry>& entries);

/// Reads such a text; `rmin` and `rmax` instead of a scale are turned into one.
/// @throws Error(kInvalidData) naming the tensor.
EncodingsDocument read_ort_overrides(std::string_view text, const std::string& source);

}  // namespace bitsweep::exporting
