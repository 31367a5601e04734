#pragma once

#include <filesystem>
#include <string>

#include "bitsweep/tensor.h"

namespace bitsweep::graph {

/// A tensor with the name that its file gives it; the name may be empty.
struct NamedTensor {
  std::string name;
  Tensor value;
};

/// Reads a file that holds one TensorProto, as in ONNX test data (input_0.pb).
/// @throws Error(kNotFound | kIo | kInvalidData): missing, unreadable, empty, or not a dense
/// tensor.
NamedTensor read_tensor_file(const std::filesystem::path& path);

}  // namespace bitsweep::graph
