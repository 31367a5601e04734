#include "graph/qdq/qdq_codes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "base/half.h"
#include "bitsweep/error.h"

namespace bitsweep::graph {
namespace {

// Value of a code as DequantizeLinear computes it, before the scale.
float float8_value(std::uint8_t code, bool e4m3) {
  const int mantissa_bits = e4m3 ? 3 : 2;
  const int bias = e4m3 ? 7 : 15;
  const int exponent = (code & 0x7F) >> mantissa_bits;
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits)
                              : std::ldexp(static_cast<float>((1 << mantissa_bits) + mantissa),
                                           exponent - bias - mantissa_bits);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

bool is_float8(DataType type) {
  return type == DataType::kFloat8E4M3FN || type == DataType::kFloat8E5M2;
}

bool all_zero(const QdqParameters& parameters) {
  const std::vector<std::int64_t> zeros = parameters.zero_points();
  return std::all_of(zeros.begin(), zeros.end(), [](std::int64_t z) { return z == 0; });
}

/// Which of several scales belongs to an element of the codes.
class ScaleCells {
 public:
  ScaleCells(const QdqParameters& parameters, const Shape& shape)
      : block_size_(parameters.block_size) {
    const auto axis = axis_of(parameters, shape);
    along_ = shape[axis];
    for (std::size_t a = axis + 1; a < shape.size(); ++a) inner_ *= shape[a];
    const std::int64_t per_axis =
        block_size_ > 0 ? (along_ + block_size_ - 1) / block_size_ : along_;
    blocks_ = per_axis;
    Shape grid = shape;
    grid[axis] = per_axis;
    num_cells_ = block_size_ > 0 ? num_elements(grid) : per_axis;
  }

  static std::size_t axis_of(const QdqParameters& parameters, const Shape& shape) {
    const int rank = static_cast<int>(shape.size());
    return static_cast<std::size_t>(parameters.axis < 0 ? parameters.axis + rank : parameters.axis);
  }

  std::int64_t num_cells() const { return num_cells_; }

  std::size_t operator()(std::size_t element) const {
    const auto at = static_cast<std::int64_t>(element);
    const std::int64_t place = at / inner_ % along_;
    if (block_size_ == 0) return static_cast<std::size_t>(place);
    return static_cast<std::size_t>(
        (at / (inner_ * along_) * blocks_ + place / block_size_) * inner_ + at % inner_);
  }

 private:
  int block_size_;
  std::int64_t along_ = 1;   ///< elements along the axis
  std::int64_t inner_ = 1;   ///< elements behind one step along it
  std::int64_t blocks_ = 1;  ///< along the axis
  std::int64_t num_cells_ = 1;
};

}  // namespace

bool QdqParameters::operator==(const QdqParameters& other) const {
  const bool zero = zero_point && other.zero_point ? zero_point->equal_bits(*other.zero_point)
                                                   : all_zero(*this) && all_zero(other);
  return scale.equal_bits(other.scale) && zero && code_type == other.code_type &&
         (scale.size() == 1 || axis == other.axis) && block_size == other.block_size;
}

std::vector<std::int64_t> QdqParameters::zero_points() const {
  if (!zero_point || is_float8(zero_point->type()))
    return std::vector<std::int64_t>(static_cast<std::size_t>(scale.size()), 0);
  return whole_numbers(*zero_point);
}

std::optional<std::string> misfit(const QdqParameters& parameters, std::size_t num_scales,
                                  const Shape& codes) {
  if (num_scales == 1) return std::nullopt;
  if (ScaleCells::axis_of(parameters, codes) >= codes.size())
    return "its axis is outside its input";
  if (static_cast<std::int64_t>(num_scales) == ScaleCells(parameters, codes).num_cells())
    return std::nullopt;
  return fmt::format("{} scales do not fit its input of shape {}", num_scales, shape_text(codes));
}

Tensor dequantize(const QdqParameters& parameters, const Tensor& codes,
                  const std::vector<double>& scales) {
  const std::vector<std::int64_t> zeros = parameters.zero_points();
  std::vector<std::int64_t> numbers;
  if (!is_float8(codes.type())) numbers = whole_numbers(codes);
  std::optional<ScaleCells> cells;
  if (scales.size() != 1) cells.emplace(parameters, codes.shape());
  Tensor wide = Tensor::allocate(DataType::kFloat, codes.shape());
  const std::span<float> out = wide.mutable_floats();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t cell = cells ? (*cells)(i) : 0;
    const float steps = numbers.empty()
                            ? float8_value(static_cast<const std::uint8_t*>(codes.data())[i],
                                           codes.type() == DataType::kFloat8E4M3FN)
                            : static_cast<float>(numbers[i] - zeros[zeros.size() == 1 ? 0 : cell]);
    // Exact in double, so rounded once.
    out[i] = static_cast<float>(static_cast<double>(steps) * scales[cell]);
  }
  return narrowed(wide, parameters.scale.type());
}

Tensor narrowed(const Tensor& wide, DataType type) {
  if (type == DataType::kFloat) return wide;
  Tensor result = Tensor::allocate(type, wide.shape());
  auto* out = static_cast<std::uint16_t*>(result.mutable_data());
  for (std::size_t i = 0; i < wide.floats().size(); ++i) {
    out[i] = type == DataType::kFloat16 ? float_to_half(wide.floats()[i])
                                        : float_to_bfloat16(wide.floats()[i]);
  }
  return result;
}

std::vector<std::int64_t> whole_numbers(const Tensor& tensor) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(tensor.size()));
  const auto* bytes = static_cast<const std::uint8_t*>(tensor.data());
  const auto read = [&]<typename T>(T) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      T value;
      std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
      result[i] = static_cast<std::int64_t>(+value);  // promoted first: an int8 is no character
    }
  };
  const auto unpack = [&](std::size_t bits, bool is_signed) {
    const std::size_t per_byte = 8 / bits;
    const int codes = 1 << bits;
    for (std::size_t i = 0; i < result.size(); ++i) {
      const int code = bytes[i / per_byte] >> (i % per_byte * bits) & (codes - 1);
      result[i] = is_signed && code >= codes / 2 ? code - codes : code;
    }
  };
  switch (tensor.type()) {
    case DataType::kInt2:
    case DataType::kUint2:
      unpack(2, tensor.type() == DataType::kInt2);
      break;
    case DataType::kInt4:
    case DataType::kUint4:
      unpack(4, tensor.type() == DataType::kInt4);
      break;
    case DataType::kInt8:
      read(std::int8_t{});
      break;
    case DataType::kUint8:
      read(std::uint8_t{});
      break;
    case DataType::kInt16:
      read(std::int16_t{});
      break;
    case DataType::kUint16:
      read(std::uint16_t{});
      break;
    case DataType::kInt32:
      read(std::int32_t{});
      break;
    case DataType::kUint32:
      read(std::uint32_t{});
      break;
    case DataType::kInt64:
      read(std::int64_t{});
      break;
    default:
      throw Error(ErrorCode::kInvalidModel, "from_onnx_qdq",
                  "codes are neither integers nor 8-bit floats", "export the model again");
  }
  return result;
}

}  // namespace bitsweep::graph
