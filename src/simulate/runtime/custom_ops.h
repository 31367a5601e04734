#pragma once

#include <filesystem>
#include <vector>

#include <onnxruntime_cxx_api.h>

namespace bitsweep::simulate {

/// Adds the operators of libraries that export RegisterCustomOps.
/// @throws Error(kRuntime) that names the library.
void register_custom_ops(const std::vector<std::filesystem::path>& libraries,
                         Ort::SessionOptions* options);

}  // namespace bitsweep::simulate
