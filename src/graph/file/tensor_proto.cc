#include "graph/file/tensor_proto.h"
#include "graph/file/model_impl.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "bitsweep/error.h"

namespace bitsweep::graph {
namespace {

constexpr const char* kStoredKey = "bitsweep.stored";

DataType type_of(const onnx::TensorProto& t) { return static_cast<DataType>(t.data_type()); }

[[noreturn]] void fail(const onnx::TensorProto& t, const std::string& what) {
  throw Error(ErrorCode::kInvalidModel, "model", fmt::format("tensor \"{}\" {}", t.name(), what),
              "the file is damaged; export the model again");
}

std::string describe(const onnx::TensorProto& t) {
  const Shape shape(t.dims().begin(), t.dims().end());
  return fmt::format("of type {} and shape {}", data_type_name(type_of(t)), shape_text(shape));
}

/// Number of entries of the typed field that the element type uses, and what the shape asks of it.
struct TypedField {
  std::size_t has = 0;
  std::size_t needs = 0;
};

TypedField typed_field(const onnx::TensorProto& t, std::size_t elements) {
  const auto size = [](const auto& field) { return static_cast<std::size_t>(field.size()); };
  switch (type_of(t)) {
    case DataType::kFloat:
      return {size(t.float_data()), elements};
    case DataType::kComplex64:
      return {size(t.float_data()), 2 * elements};
    case DataType::kDouble:
      return {size(t.double_data()), elements};
    case DataType::kComplex128:
      return {size(t.double_data()), 2 * elements};
    case DataType::kInt64:
      return {size(t.int64_data()), elements};
    case DataType::kUint32:
    case DataType::kUint64:
      return {size(t.uint64_data()), elements};
    case DataType::kString:
      return {size(t.string_data()), elements};
    case DataType::kUint4:
    case DataType::kInt4:
    case DataType::kFloat4E2M1:
      return {size(t.int32_data()), (elements + 1) / 2};
    case DataType::kUint2:
    case DataType::kInt2:
      return {size(t.int32_data()), (elements + 3) / 4};
    default:
      return {size(t.int32_data()), elements};
  }
}

std::size_t element_count(const onnx::TensorProto& t) {
  // 2^55 elements of 128 bits still fit 64-bit byte counts.
  constexpr std::int64_t kMost = std::int64_t{1} << 55;
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t d : t.dims()) {
    if (d < 0) fail(t, fmt::format("has the negative dimension {}", d));
    if (d == 0) empty = true;
    if (d > 0 && count > kMost / d) fail(t, "has a shape that is too large");
    if (d > 0) count *= d;
  }
  return empty ? 0 : static_cast<std::size_t>(count);
}

Tensor copy_of(DataType type, const Shape& shape, const void* data) {
  Tensor out = Tensor::allocate(type, shape);
  if (out.size_bytes() > 0) std::memcpy(out.mutable_data(), data, out.size_bytes());
  return out;
}

Tensor view_or_copy(DataType type, const Shape& shape, const void* data,
                    std::shared_ptr<const void> owner) {
  // Readers index the buffer as an array of its type, so an odd file offset forces a copy.
  const std::size_t element = data_type_size(type);
  const std::size_t alignment = element == 0 ? 1 : std::min<std::size_t>(element, 8);
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
  if (data == nullptr || !aligned) return copy_of(type, shape, data);
  return Tensor::borrow(type, shape, data, std::move(owner));
}

template <typename To, typename Field>
void narrow(const Field& from, void* to) {
  auto* out = static_cast<To*>(to);
  for (const auto value : from) *out++ = static_cast<To>(value);
}

/// float6 keeps one code per int32 entry; raw_data packs four codes into three bytes, low bits
/// first.
void pack_six_bits(const onnx::TensorProto& t, void* to, std::size_t bytes) {
  auto* out = static_cast<std::uint8_t*>(to);
  std::memset(out, 0, bytes);
  std::size_t bit = 0;
  for (const std::int32_t value : t.int32_data()) {
    const auto code = static_cast<std::uint32_t>(value) & 0x3FU;
    const std::uint32_t shifted = code << (bit % 8);
    out[bit / 8] = static_cast<std::uint8_t>(out[bit / 8] | (shifted & 0xFFU));
    if (shifted > 0xFFU)
      out[bit / 8 + 1] = static_cast<std::uint8_t>(out[bit / 8 + 1] | (shifted >> 8));
    bit += 6;
  }
}

}  // namespace

int stored_index(const onnx::TensorProto& tensor) {
  if (tensor.external_data_size() != 1 || tensor.external_data(0).key() != kStoredKey) return -1;
  return std::stoi(tensor.external_data(0).value());
}

void mark_stored(onnx::TensorProto* tensor, std::size_t index) {
  tensor->clear_external_data();
  onnx::StringStringEntryProto* entry = tensor->add_external_data();
  entry->set_key(kStoredKey);
  entry->set_value(std::to_string(index));
}

std::size_t required_bytes(const onnx::TensorProto& tensor) {
  if (type_of(tensor) != DataType::kString && data_type_bits(type_of(tensor)) == 0) {
    throw Error(
        ErrorCode::kInvalidModel, "model",
        fmt::format("tensor \"{}\" has the element type {}, which this version does not know",
                    tensor.name(), tensor.data_type()),
        "convert the tensor to a type of the ONNX standard");
  }
  return (element_count(tensor) * data_type_bits(type_of(tensor)) + 7) / 8;
}

void check_tensor(const onnx::TensorProto& tensor, std::span<const StoredBytes> stored) {
  const std::size_t bytes = required_bytes(tensor);
  const int index = stored_index(tensor);
  const bool is_string = type_of(tensor) == DataType::kString;
  if (index >= 0 || (tensor.has_raw_data() && !is_string)) {
    const std::size_t has =
        index >= 0 ? stored[static_cast<std::size_t>(index)].size : tensor.raw_data().size();
    if (has != bytes)
      fail(tensor, fmt::format("{} needs {} bytes but holds {}", describe(tensor), bytes, has));
    return;
  }
  const TypedField field = typed_field(tensor, element_count(tensor));
  if (field.has != field.needs) {
    fail(tensor,
         fmt::format("{} needs {} values but holds {}", describe(tensor), field.needs, field.has));
  }
}

Tensor read_tensor(const onnx::TensorProto& tensor, std::span<const StoredBytes> stored,
                   std::shared_ptr<const void> owner) {
  check_tensor(tensor, stored);
  const DataType type = type_of(tensor);
  Shape shape(tensor.dims().begin(), tensor.dims().end());
  if (type == DataType::kString) return Tensor::borrow(type, std::move(shape), nullptr, nullptr);
  if (const int index = stored_index(tensor); index >= 0) {
    const StoredBytes& bytes = stored[static_cast<std::size_t>(index)];
    if (bytes.make) return bytes.make();
    return view_or_copy(type, shape, bytes.data, bytes.owner);
  }
  if (tensor.has_raw_data())
    return view_or_copy(type, shape, tensor.raw_data().data(), std::move(owner));
  switch (type) {
    case DataType::kFloat:
    case DataType::kComplex64:
      return view_or_copy(type, shape, tensor.float_data().data(), std::move(owner));
    case DataType::kDouble:
    case DataType::kComplex128:
      return view_or_copy(type, shape, tensor.double_data().data(), std::move(owner));
    case DataType::kInt64:
      return view_or_copy(type, shape, tensor.int64_data().data(), std::move(owner));
    case DataType::kUint64:
      return view_or_copy(type, shape, tensor.uint64_data().data(), std::move(owner));
    case DataType::kInt32:
      return view_or_copy(type, shape, tensor.int32_data().data(), std::move(owner));
    default:
      break;
  }
  Tensor out = Tensor::allocate(type, std::move(shape));
  if (type == DataType::kUint32) {
    narrow<std::uint32_t>(tensor.uint64_data(), out.mutable_data());
  } else if (data_type_bits(type) == 16) {
    narrow<std::uint16_t>(tensor.int32_data(), out.mutable_data());
  } else if (data_type_bits(type) == 6) {
    pack_six_bits(tensor, out.mutable_data(), out.size_bytes());
  } else {
    narrow<std::uint8_t>(tensor.int32_data(),
                         out.mutable_data());  // bytes, and packed types byte by byte
  }
  return out;
}

Tensor read_sparse(const onnx::SparseTensorProto& sparse, std::span<const StoredBytes> stored) {
  const onnx::TensorProto& values_proto = sparse.values();
  const Tensor values = read_tensor(values_proto, stored, nullptr);
  const Tensor indices = read_tensor(sparse.indices(), stored, nullptr);
  const std::size_t element = data_type_size(values.type());
  if (element == 0 || values.shape().size() != 1 || indices.type() != DataType::kInt64) {
    fail(values_proto, "is sparse with values or indices of a kind that ONNX does not allow");
  }
  onnx::TensorProto dense;
  dense.set_name(values_proto.name());
  dense.set_data_type(values_proto.data_type());
  *dense.mutable_dims() = sparse.dims();
  const std::size_t bytes = required_bytes(dense);
  // A few indices can ask for any amount of memory.
  constexpr std::size_t kDenseBytesMax = std::size_t{1} << 32;
  if (bytes > kDenseBytesMax)
    fail(values_proto, fmt::format("is sparse and would take {} bytes", bytes));
  const auto rank = static_cast<std::size_t>(sparse.dims_size());
  const auto count = static_cast<std::size_t>(values.size());
  const bool linear = indices.shape().size() == 1;
  const bool coordinates = indices.shape().size() == 2 && indices.shape()[1] == sparse.dims_size();
  if (!(linear || coordinates) || indices.shape()[0] != values.size()) {
    fail(values_proto, fmt::format("is sparse with {} values but indices of shape {}", count,
                                   shape_text(indices.shape())));
  }
  Tensor out = Tensor::allocate(values.type(), Shape(sparse.dims().begin(), sparse.dims().end()));
  auto* to = static_cast<std::byte*>(out.mutable_data());
  std::memset(to, 0, bytes);
  const auto* from = static_cast<const std::byte*>(values.data());
  const auto* index = static_cast<const std::int64_t*>(indices.data());
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t at = 0;
    if (linear) {
      at = index[i];
    } else {
      for (std::size_t d = 0; d < rank; ++d) {
        const std::int64_t c = index[i * rank + d];
        if (c < 0 || c >= out.shape()[d]) at = std::numeric_limits<std::int64_t>::min();
        if (at >= 0) at = at * out.shape()[d] + c;
      }
    }
    if (at < 0 || at >= out.size())
      fail(values_proto, fmt::format("is sparse and its index {} lies outside", i));
    std::memcpy(to + static_cast<std::size_t>(at) * element, from + i * element, element);
  }
  return out;
}

void write_tensor(const Tensor& value, std::string_view name, onnx::TensorProto* to) {
  to->Clear();
  to->set_name(std::string(name));
  to->set_data_type(static_cast<std::int32_t>(value.type()));
  for (const std::int64_t d : value.shape()) to->add_dims(d);
  to->set_raw_data(value.data(), value.size_bytes());
}

void restore_stored(onnx::TensorProto* tensor, std::span<const StoredBytes> stored) {
  const int index = stored_index(*tensor);
  if (index < 0) return;
  const StoredBytes& bytes = stored[static_cast<std::size_t>(index)];
  tensor->clear_external_data();
  if (tensor->data_location() == onnx::TensorProto::EXTERNAL) tensor->clear_data_location();
  if (bytes.make) {
    const Tensor value = bytes.make();
    tensor->set_raw_data(value.data(), value.size_bytes());
    return;
  }
  tensor->set_raw_data(bytes.data, bytes.size);
}

void write_computed(DataType type, const Shape& shape, std::function<Tensor()> make,
                    std::string_view name, onnx::TensorProto* to,
                    std::vector<StoredBytes>* stored) {
  const std::size_t bytes =
      (static_cast<std::size_t>(num_elements(shape)) * data_type_bits(type) + 7) / 8;
  if (bytes < kStoredBytesMin) {
    write_tensor(make(), name, to);
    return;
  }
  to->set_name(std::string(name));
  to->set_data_type(static_cast<std::int32_t>(type));
  for (const std::int64_t d : shape) to->add_dims(d);
  StoredBytes computed;
  computed.size = bytes;
  computed.make = std::move(make);
  stored->push_back(std::move(computed));
  mark_stored(to, stored->size() - 1);
}

}  // namespace bitsweep::graph
