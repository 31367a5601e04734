#include <memory>

#include "base/sha256.h"
#include "bitsweep/model.h"
#include "graph/file/model_impl.h"
#include "graph/file/walk_tensors.h"

namespace bitsweep {
namespace {

std::string hash_of(const std::shared_ptr<const Model::Impl>& impl) {
  Sha256 hash;
  // Values first, each as the bytes that raw_data would hold; strings stay in the message.
  graph::walk_tensors(impl->proto, [&](const onnx::TensorProto& tensor) {
    if (tensor.data_type() == onnx::TensorProto::STRING) return;
    const Tensor value = graph::read_tensor(tensor, impl->stored, impl);
    hash.add(value.data(), value.size_bytes());
  });
  // Then the message without any trace of how values are stored.
  onnx::ModelProto rest = impl->proto;
  graph::walk_tensors(rest, [](onnx::TensorProto& tensor) {
    tensor.clear_external_data();
    tensor.clear_data_location();
    tensor.clear_raw_data();
    tensor.clear_float_data();
    tensor.clear_int32_data();
    tensor.clear_int64_data();
    tensor.clear_double_data();
    tensor.clear_uint64_data();
  });
  const std::string bytes = rest.SerializeAsString();
  hash.add(bytes.data(), bytes.size());
  return hash.hexadecimal();
}

}  // namespace

std::string Model::content_hash() const {
  std::call_once(impl_->hash_once, [&] { impl_->hash = hash_of(impl_); });
  return impl_->hash;
}

}  // namespace bitsweep
