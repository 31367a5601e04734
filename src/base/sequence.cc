#include "bitsweep/sequence.h"

#include <cstring>
#include <memory>
#include <utility>

namespace bitsweep {

Tensor make_sequence(std::vector<Tensor> elements) {
  const auto owner = std::make_shared<const std::vector<Tensor>>(std::move(elements));
  return Tensor::borrow(DataType::kUndefined, {static_cast<std::int64_t>(owner->size())},
                        owner.get(), owner);
}

bool is_sequence(const Tensor& value) { return !value.defined() && value.data() != nullptr; }

std::span<const Tensor> elements_of(const Tensor& value) {
  if (!is_sequence(value)) return {};
  return *static_cast<const std::vector<Tensor>*>(value.data());
}

Tensor deep_copy(const Tensor& value) {
  if (is_sequence(value)) {
    std::vector<Tensor> copies;
    for (const Tensor& element : elements_of(value)) copies.push_back(deep_copy(element));
    return make_sequence(std::move(copies));
  }
  if (!value.defined()) return value;
  Tensor copy = Tensor::allocate(value.type(), value.shape());
  if (value.size_bytes() > 0) std::memcpy(copy.mutable_data(), value.data(), value.size_bytes());
  return copy;
}

}  // namespace bitsweep
