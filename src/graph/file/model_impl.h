#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "bitsweep/model.h"
#include "graph/file/tensor_proto.h"
#include "onnx-ml.pb.h"

namespace bitsweep {

/// The parsed message without its large tensors, and their bytes beside it.
struct Model::Impl {
  onnx::ModelProto proto;
  std::vector<graph::StoredBytes> stored;

  /// Held while save() has lent stored strings to the message that it writes.
  mutable std::mutex lending;
  mutable std::once_flag hash_once;
  mutable std::string hash;
};

}  // namespace bitsweep

namespace bitsweep::graph {

/// Tensors smaller than this stay inside the message: moving them would cost more than copying
/// them.
inline constexpr std::size_t kStoredBytesMin = 1024;

}  // namespace bitsweep::graph
