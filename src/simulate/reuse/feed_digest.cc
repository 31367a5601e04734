#include "simulate/reuse/feed_digest.h"

#include <cstdint>

#include "bitsweep/sequence.h"

namespace bitsweep::simulate {

void add_tensor(Sha256* hash, const Tensor& tensor) {
  hash->add_number(static_cast<std::int32_t>(tensor.type()));
  hash->add(tensor.shape().data(), tensor.shape().size() * sizeof(std::int64_t));
  hash->add(tensor.data(), tensor.size_bytes());
  for (const Tensor& element : elements_of(tensor)) add_tensor(hash, element);
}

std::string digest_of(const Feed& feed) {
  Sha256 hash;
  for (const auto& [name, tensor] : feed) {
    hash.add(name);
    add_tensor(&hash, tensor);
  }
  return hash.digest();
}

}  // namespace bitsweep::simulate
