#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <memory>
#include <new>

#include "bitsweep/model.h"
#include "graph/model_impl.h"
#include "graph/walk_tensors.h"

namespace bitsweep {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
      throw std::bad_alloc();
  }

  void add(const void* data, std::size_t size) {
    // The length goes first, so that two fields can't run into each other.
    const auto length = static_cast<std::uint64_t>(size);
    EVP_DigestUpdate(context_.get(), &length, sizeof length);
    if (size > 0) EVP_DigestUpdate(context_.get(), data, size);
  }

  std::string hexadecimal() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
    std::string text;
    for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

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
