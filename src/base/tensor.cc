#include "bitsweep/tensor.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/half.h"
#include "bitsweep/error.h"

namespace bitsweep {
namespace {

struct TypeRow {
  std::string_view name;
  std::size_t bits;
};

// Index = number in TensorProto.DataType.
constexpr std::array<TypeRow, 29> kTypes = {{
    {"undefined", 0},      {"float32", 32},     {"uint8", 8},          {"int8", 8},
    {"uint16", 16},        {"int16", 16},       {"int32", 32},         {"int64", 64},
    {"string", 0},         {"bool", 8},         {"float16", 16},       {"float64", 64},
    {"uint32", 32},        {"uint64", 64},      {"complex64", 64},     {"complex128", 128},
    {"bfloat16", 16},      {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 4},        {"int4", 4},           {"float4e2m1", 4},
    {"float8e8m0", 8},     {"uint2", 2},        {"int2", 2},           {"float6e2m3", 6},
    {"float6e3m2", 6},
}};

const TypeRow& row(DataType type) {
  const auto index = static_cast<std::size_t>(type);
  return index < kTypes.size() ? kTypes[index] : kTypes[0];
}

}  // namespace

std::string_view data_type_name(DataType type) { return row(type).name; }
std::size_t data_type_bits(DataType type) { return row(type).bits; }
std::size_t data_type_size(DataType type) {
  const std::size_t bits = row(type).bits;
  return bits % 8 == 0 ? bits / 8 : 0;
}

bool is_quantizable_type(DataType type) {
  return type == DataType::kFloat || type == DataType::kFloat16 || type == DataType::kBfloat16;
}

std::int64_t num_elements(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t d : shape) count *= d;
  return count;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ',';
    text += shape[i] < 0 ? "?" : std::to_string(shape[i]);
  }
  return text + "]";
}

Tensor Tensor::allocate(DataType type, Shape shape) {
  Tensor t;
  t.type_ = type;
  t.shape_ = std::move(shape);
  constexpr std::size_t kAlignment = 64;
  const std::size_t bytes = (t.size_bytes() + kAlignment) / kAlignment * kAlignment;
  void* buffer = std::aligned_alloc(kAlignment, bytes);
  if (buffer == nullptr) throw std::bad_alloc();
  t.data_ =
      std::shared_ptr<const void>(buffer, [](const void* p) { std::free(const_cast<void*>(p)); });
  t.writable_ = true;
  return t;
}

Tensor Tensor::borrow(DataType type, Shape shape, const void* data,
                      std::shared_ptr<const void> owner) {
  Tensor t;
  t.type_ = type;
  t.shape_ = std::move(shape);
  t.data_ = std::shared_ptr<const void>(std::move(owner), data);
  return t;
}

void* Tensor::mutable_data() {
  if (!writable_) {
    throw Error(ErrorCode::kInvalidArgument, "tensor", "a borrowed buffer must not be written",
                "copy it first");
  }
  return const_cast<void*>(data_.get());
}

std::span<const float> Tensor::floats() const {
  if (type_ != DataType::kFloat) {
    throw Error(ErrorCode::kInvalidArgument, "tensor",
                "elements are " + std::string(data_type_name(type_)) + ", not float32",
                "convert with to_float()");
  }
  return {static_cast<const float*>(data()), static_cast<std::size_t>(size())};
}

std::span<float> Tensor::mutable_floats() {
  const std::span<const float> view = floats();
  return {static_cast<float*>(mutable_data()), view.size()};
}

Tensor Tensor::to_float() const {
  if (type_ == DataType::kFloat) return *this;
  Tensor out = allocate(DataType::kFloat, shape_);
  const std::span<float> to = out.mutable_floats();
  if (type_ == DataType::kFloat16) {
    half_to_float(static_cast<const std::uint16_t*>(data()), to.data(), to.size());
  } else if (type_ == DataType::kBfloat16) {
    bfloat16_to_float(static_cast<const std::uint16_t*>(data()), to.data(), to.size());
  } else if (type_ == DataType::kDouble) {
    const auto* from = static_cast<const double*>(data());
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(from[i]);
  } else {
    throw Error(ErrorCode::kInvalidArgument, "tensor",
                defined() ? "cannot read " + std::string(data_type_name(type_)) + " as float32"
                          : "cannot read a sequence or an optional value as float32",
                "choose a floating-point tensor");
  }
  return out;
}

bool Tensor::equal_bits(const Tensor& other) const {
  return type_ == other.type_ && shape_ == other.shape_ &&
         (data() == other.data() ||
          (defined() &&
           (size_bytes() == 0 || std::memcmp(data(), other.data(), size_bytes()) == 0)));
}

}  // namespace bitsweep
