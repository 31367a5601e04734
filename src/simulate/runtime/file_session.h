#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bitsweep/tensor.h"

namespace bitsweep::simulate {

/// Levels of ONNX Runtime's graph optimizations.
enum class OptimizationLevel { kDisabled, kBasic, kExtended, kAll };

struct FileSessionOptions {
  OptimizationLevel level = OptimizationLevel::kAll;
  int num_threads = 1;
  /// Kernels whose 8-bit products do not saturate, where a CPU without VNNI has faster ones.
  bool exact_products = false;
  bool small = false;  ///< slower, without packed copies of the weights and memory kept for later
  std::filesystem::path ort_library;
  std::vector<std::filesystem::path> custom_op_libraries;
};

/// A session of a model file as anybody else would open it: no operator and no setting of ours.
class FileSession {
 public:
  /// @throws Error(kRuntime) with the runtime's reason when it refuses the file.
  FileSession(const std::filesystem::path& file, const FileSessionOptions& options);
  ~FileSession();
  FileSession(const FileSession&) = delete;
  FileSession& operator=(const FileSession&) = delete;

  const std::vector<std::string>& output_names() const;
  /// Outputs in the order of the file. @throws Error(kRuntime).
  std::vector<Tensor> run(const Feed& feed) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bitsweep::simulate
