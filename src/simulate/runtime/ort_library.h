#pragma once

#include <filesystem>
#include <string>

#include <onnxruntime_cxx_api.h>

namespace bitsweep::simulate {

/// Opens ONNX Runtime and fills the C++ wrapper's API table. The first successful call decides for
/// the whole process.
///
/// Search order: `preferred`, $BITSWEEP_ORT_LIB, the `onnxruntime` package beside our own file,
/// $ONNXRUNTIME_ROOT/lib, the active virtual environment, the system's library path.
/// @throws Error(kRuntime) that lists every place tried, with the reason.
void open_ort_library(const std::filesystem::path& preferred);

/// Path of the opened library.
const std::filesystem::path& ort_library_path();

/// The one environment of the process. `pool_threads` sizes its shared thread pool; the first call
/// decides.
Ort::Env& ort_environment(int pool_threads);
/// Threads of the shared pool; 0 before the environment exists.
int ort_pool_threads();

}  // namespace bitsweep::simulate
