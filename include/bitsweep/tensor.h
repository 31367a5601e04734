#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bitsweep/export.h"

namespace BITSWEEP_EXPORT bitsweep {

/// Element types, numbered as TensorProto.DataType of ONNX.
enum class DataType : std::int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28,
};

/// Name as numpy and ONNX users write it: "float32", "int64", "bfloat16".
std::string_view data_type_name(DataType type);

/// Bytes of one element; 0 for strings, packed sub-byte and undefined types.
std::size_t data_type_size(DataType type);

/// Bits of one element, packed types included (4 for int4); 0 for strings and undefined.
std::size_t data_type_bits(DataType type);

/// float32, float16 or bfloat16: the element types a quantizer can sit on.
bool is_quantizable_type(DataType type);

using Shape = std::vector<std::int64_t>;

/// Product of the dimensions; 1 for a scalar.
std::int64_t num_elements(std::span<const std::int64_t> shape);

/// "[1,3,224,224]".
std::string shape_text(std::span<const std::int64_t> shape);

/// A dense row-major tensor whose buffer is shared and kept alive by reference counting: copies are
/// cheap.
class Tensor {
 public:
  Tensor() = default;

  /// New buffer aligned to 64 bytes, not initialised.
  static Tensor allocate(DataType type, Shape shape);

  /// Wraps memory owned elsewhere without a copy; `owner` keeps it alive (may be null for static
  /// storage).
  static Tensor borrow(DataType type, Shape shape, const void* data,
                       std::shared_ptr<const void> owner);

  DataType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  std::int64_t size() const { return num_elements(shape_); }
  /// Bytes of the buffer; packed types fill whole bytes, low bits first, as in raw_data of ONNX.
  std::size_t size_bytes() const {
    return (static_cast<std::size_t>(size()) * data_type_bits(type_) + 7) / 8;
  }
  bool defined() const { return type_ != DataType::kUndefined; }

  const void* data() const { return data_.get(); }
  /// Writable access; only for tensors made by allocate().
  void* mutable_data();

  /// Elements of a float32 tensor. @throws Error(kInvalidArgument) for another type.
  std::span<const float> floats() const;
  std::span<float> mutable_floats();

  /// A float32 copy of a float32, float16, bfloat16 or double tensor (the tensor itself when
  /// already float32).
  Tensor to_float() const;

  /// Same type, shape and bytes.
  bool equal_bits(const Tensor& other) const;

 private:
  DataType type_ = DataType::kUndefined;
  Shape shape_;
  std::shared_ptr<const void> data_;
  bool writable_ = false;
};

/// One sample: a tensor for each model input, by name.
using Feed = std::map<std::string, Tensor, std::less<>>;

}  // namespace BITSWEEP_EXPORT bitsweep
