#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bitsweep/tensor.h"
#include "onnx-ml.pb.h"

namespace bitsweep::graph {

/// Bytes of a tensor that live beside the protobuf message: moved out of it when the model was
/// parsed, or in a mapped file. So messages stay small and cheap to copy.
struct StoredBytes {
  std::shared_ptr<const void> owner;
  const std::byte* data = nullptr;
  std::size_t size = 0;
  std::string* text =
      nullptr;  ///< the string that holds the bytes; null when they are in a mapped file
  /// Computes the tensor each time that it is needed, instead of `data`: what is written weight by
  /// weight never is in memory as a whole.
  std::function<Tensor()> make{};
};

/// Index into the stored bytes of the model, or -1 when the message holds its data itself.
int stored_index(const onnx::TensorProto& tensor);
void mark_stored(onnx::TensorProto* tensor, std::size_t index);

/// Bytes that shape and type ask for (0 for strings). @throws Error(kInvalidModel) for an unknown
/// type, a negative dimension or an overflow.
std::size_t required_bytes(const onnx::TensorProto& tensor);

/// Compares what the message holds with its shape. @throws Error(kInvalidModel) naming the tensor.
void check_tensor(const onnx::TensorProto& tensor, std::span<const StoredBytes> stored);

/// Value of a tensor in any of the storage forms of ONNX; a view where the layout allows. `owner`
/// keeps the message alive. A string tensor comes back with type and shape but without data.
Tensor read_tensor(const onnx::TensorProto& tensor, std::span<const StoredBytes> stored,
                   std::shared_ptr<const void> owner);

/// Dense value of a sparse tensor.
Tensor read_sparse(const onnx::SparseTensorProto& sparse, std::span<const StoredBytes> stored);

/// Writes type, shape and raw_data.
void write_tensor(const Tensor& value, std::string_view name, onnx::TensorProto* to);

/// Makes `to` a tensor whose bytes are computed when they are needed; small ones at once.
void write_computed(DataType type, const Shape& shape, std::function<Tensor()> make,
                    std::string_view name, onnx::TensorProto* to, std::vector<StoredBytes>* stored);

/// Puts stored bytes back into the message (a copy).
void restore_stored(onnx::TensorProto* tensor, std::span<const StoredBytes> stored);

}  // namespace bitsweep::graph
