#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "graph/file/mapped_file.h"
#include "graph/file/tensor_proto.h"

namespace bitsweep::graph {

/// Finds the bytes of tensors that a model keeps in files beside it. Each file is mapped once.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path base_dir) : base_dir_(std::move(base_dir)) {}

  /// @throws Error naming tensor and file: no location, a location outside the folder, a missing or
  /// short file.
  StoredBytes resolve(const onnx::TensorProto& tensor);

 private:
  std::filesystem::path base_dir_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace bitsweep::graph
