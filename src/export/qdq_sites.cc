#include "export/qdq_sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "base/half.h"
#include "bitsweep/error.h"
#include "export/write_entries.h"
#include "quant/formats/float8.h"
#include "quant/grid_layout.h"

namespace bitsweep::exporting {
namespace {

// Writes whole numbers as elements of a type of up to 32 bits; below 8 bits several to a byte, the
// first in the lowest bits.
class IntegerWriter {
 public:
  IntegerWriter(DataType type, Shape shape)
      : tensor_(Tensor::allocate(type, std::move(shape))),
        bytes_(static_cast<std::uint8_t*>(tensor_.mutable_data())),
        bits_(data_type_bits(type)) {
    std::memset(bytes_, 0, tensor_.size_bytes());
  }

  void put(std::size_t i, std::int64_t value) {
    const auto code = static_cast<std::uint32_t>(value);
    if (bits_ < 8) {
      const std::size_t per_byte = 8 / bits_;
      const std::uint32_t mask = (1U << bits_) - 1;
      std::uint8_t& byte = bytes_[i / per_byte];
      byte = static_cast<std::uint8_t>(byte | ((code & mask) << (i % per_byte * bits_)));
    } else {
      std::memcpy(bytes_ + i * bits_ / 8, &code, bits_ / 8);  // little-endian, as ONNX stores it
    }
  }

  Tensor take() { return std::move(tensor_); }

 private:
  Tensor tensor_;
  std::uint8_t* bytes_;
  std::size_t bits_;
};

Tensor integer_tensor(DataType type, Shape shape, const std::vector<std::int64_t>& values) {
  IntegerWriter writer(type, std::move(shape));
  for (std::size_t i = 0; i < values.size(); ++i) writer.put(i, values[i]);
  return writer.take();
}

Tensor scale_tensor(DataType type, Shape shape, const std::vector<double>& values) {
  Tensor result = Tensor::allocate(type, std::move(shape));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    if (type == DataType::kFloat) {
      static_cast<float*>(result.mutable_data())[i] = value;
    } else {
      static_cast<std::uint16_t*>(result.mutable_data())[i] = float_to_half(value);
    }
  }
  return result;
}

// Cell of each scale that QuantizeLinear asks for: with blocks it wants the full shape on all axes
// but theirs.
std::vector<std::size_t> expanded_cells(const FileEntry& entry, const Shape& shape) {
  std::vector<std::size_t> result(static_cast<std::size_t>(num_elements(shape)));
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::size_t rest = i;
    std::size_t stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const std::size_t index = rest % static_cast<std::size_t>(shape[axis]);
      rest /= static_cast<std::size_t>(shape[axis]);
      if (entry.grid[axis] > 1) result[i] += index * stride;
      stride *= static_cast<std::size_t>(entry.grid[axis]);
    }
  }
  return result;
}

// Code of a value on the grid of an 8-bit float, in units of its scale.
std::int64_t float8_code(float value, const kernels::Float8Layout& layout) {
  const std::int64_t sign = std::signbit(value) ? 0x80 : 0;
  const float magnitude = std::min(std::abs(value), layout.largest);
  if (!(magnitude > 0.0F)) return sign;
  int exponent = std::max(std::ilogb(magnitude), layout.min_exponent);
  auto mantissa = static_cast<std::int64_t>(
      std::nearbyint(std::ldexp(magnitude, layout.mantissa_bits - exponent)));
  const std::int64_t one = std::int64_t{1} << layout.mantissa_bits;
  if (mantissa == 2 * one) {
    ++exponent;
    mantissa = one;
  }
  if (mantissa < one) return sign | mantissa;  // subnormal
  return sign |
         ((static_cast<std::int64_t>(exponent - layout.min_exponent + 1) << layout.mantissa_bits) |
          (mantissa - one));
}

}  // namespace

DataType code_data_type(const FileEntry& entry) {
  if (entry.format.kind == Format::Kind::kFloat8E4M3FN) return DataType::kFloat8E4M3FN;
  if (entry.format.kind == Format::Kind::kFloat8E5M2) return DataType::kFloat8E5M2;
  const int bits = entry.format.bitwidth;
  if (bits <= 2 && entry.two_bit_type)
    return entry.signed_codes ? DataType::kInt2 : DataType::kUint2;
  if (bits <= 4) return entry.signed_codes ? DataType::kInt4 : DataType::kUint4;
  if (bits <= 8) return entry.signed_codes ? DataType::kInt8 : DataType::kUint8;
  if (bits <= 16) return entry.signed_codes ? DataType::kInt16 : DataType::kUint16;
  if (bits == 32 && entry.signed_codes && entry.parameter) return DataType::kInt32;
  throw Error(ErrorCode::kInvalidArgument, "export",
              fmt::format("\"{}\" has {} bits, which QuantizeLinear can't say", entry.name, bits),
              "choose up to 16 bits, or write an encodings file");
}

std::int64_t required_opset(const FileEntry& entry, DataType type) {
  const DataType code = code_data_type(entry);
  const bool blocks = entry.kind == EntryKind::kPerBlock || entry.kind == EntryKind::kLpbq;
  const bool plain =
      code == DataType::kInt8 || code == DataType::kUint8 || code == DataType::kInt32;
  if (data_type_bits(code) == 2) return 25;
  if (blocks || (entry.format.is_integer() && !plain)) return 21;
  if (!entry.format.is_integer()) return 19;
  // Clip with inputs; Cast of bfloat16.
  if (entry.format.bitwidth < 8 || type == DataType::kBfloat16) return 13;
  return entry.kind == EntryKind::kPerChannel ? 13 : 10;
}

bool has_half_scales(DataType type, const QdqOptions& options) {
  return options.half_scales && type == DataType::kFloat16;  // ONNX Runtime has no bfloat16 ones
}

graph::QdqSite qdq_site(const FileEntry& entry, DataType type, const Shape& shape,
                        const QdqOptions& options) {
  graph::QdqSite site;
  // A scale in half precision would not be the simulated one. Operator set 23 allows another type
  // for it, which the optimizations of ONNX Runtime 1.32 break; casts need no new operator set.
  const DataType scale_type = has_half_scales(type, options) ? type : DataType::kFloat;
  if (type != scale_type) {
    site.cast_to = scale_type;
    site.cast_back = type;
  }
  Shape scale_shape;
  std::vector<std::size_t> cells(entry.cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = i;
  if (entry.kind == EntryKind::kPerChannel) {
    site.axis = entry.channel_axis;
    scale_shape = {static_cast<std::int64_t>(entry.cells.size())};
  } else if (entry.kind != EntryKind::kPerTensor) {
    site.axis = entry.block_axis;
    site.block_size = entry.block_size;
    scale_shape = shape;
    scale_shape[static_cast<std::size_t>(entry.block_axis)] /= entry.block_size;
    cells = expanded_cells(entry, scale_shape);
  }
  std::vector<std::int64_t> zeros;
  for (const std::size_t cell : cells) zeros.push_back(zero_point(entry, cell));
  site.zero_point = integer_tensor(code_data_type(entry), scale_shape, zeros);
  const bool narrow =
      entry.format.is_integer() &&
      static_cast<int>(data_type_bits(site.zero_point.type())) != entry.format.bitwidth;
  if (narrow && entry.cells.size() == 1) {
    site.low = scale_tensor(scale_type, {}, {entry.cells.front().min});
    site.high = scale_tensor(scale_type, {}, {entry.cells.front().max});
  }
  constexpr int kMostScaleBits = 15;  // the largest multiple is 2^scale_bits, in at most 16 bits
  if (options.lpbq_multiples && entry.kind == EntryKind::kLpbq &&
      entry.scale_bits <= kMostScaleBits) {
    const LpbqScales parts = lpbq_scales(entry);
    std::vector<std::int64_t> multiples;
    for (const std::size_t cell : cells) multiples.push_back(parts.block[cell]);
    const DataType multiple_type = entry.scale_bits < 8 ? DataType::kUint8 : DataType::kUint16;
    const Shape units = {static_cast<std::int64_t>(parts.channel.size())};
    site.scale_multiples = integer_tensor(multiple_type, scale_shape, multiples);
    site.scale_zero_point =
        integer_tensor(multiple_type, units, std::vector<std::int64_t>(parts.channel.size(), 0));
    site.scale = scale_tensor(scale_type, units, parts.channel);
    site.scale_axis = entry.channel_axis;
    for (std::size_t cell = 0; cell < entry.cells.size(); ++cell) {
      const auto unit = static_cast<float>(parts.channel[channel_of(entry, cell)]);
      if (static_cast<float>(parts.block[cell]) * unit !=
          static_cast<float>(entry.cells[cell].delta))
        site.exact_scale = parts.channel;
    }
    return site;
  }
  // Steps below the finest of the type would become 0, and quotients NaN.
  constexpr double kSmallestHalf = 0x1p-24;
  const double finest = scale_type == DataType::kFloat16 ? kSmallestHalf : 0.0;
  std::vector<double> scales;
  for (const std::size_t cell : cells) scales.push_back(std::max(entry.cells[cell].delta, finest));
  site.scale = scale_tensor(scale_type, scale_shape, scales);
  return site;
}

Tensor codes_of(const FileEntry& entry, const Tensor& values) {
  const Tensor wide = values.to_float();
  const std::span<const float> x = wide.floats();
  const Granularity granularity{
      .channel_axis = entry.kind == EntryKind::kPerTensor ? -1 : entry.channel_axis,
      .block_axis = entry.block_size > 0 ? entry.block_axis : -1,
      .block_size = entry.block_size};
  const GridLayout layout(granularity, values.shape());
  IntegerWriter codes(code_data_type(entry), values.shape());
  const bool is_float = !entry.format.is_integer();
  const std::int64_t least =
      is_float || !entry.signed_codes ? 0 : -(std::int64_t{1} << (entry.format.bitwidth - 1));
  const std::int64_t most = least + (std::int64_t{1} << entry.format.bitwidth) - 1;
  layout.for_each_run(
      0, values.size(), [&](std::int64_t cell, std::int64_t first, std::int64_t count) {
        const auto index = static_cast<std::size_t>(cell);
        const std::int64_t zero = zero_point(entry, index);
        const double exact = entry.cells[index].delta;
        const auto scale = static_cast<float>(exact);
        for (std::int64_t i = first; i < first + count; ++i) {
          const float value = x[static_cast<std::size_t>(i)];
          // As QuantizeLinear divides; 32-bit codes need more digits than float32 has.
          const double steps = entry.format.bitwidth == 32 ? static_cast<double>(value) / exact
                                                           : static_cast<double>(value / scale);
          const std::int64_t code =
              is_float ? float8_code(static_cast<float>(steps), float8_layout(entry.format.kind))
                       : std::clamp(static_cast<std::int64_t>(std::nearbyint(steps)) + zero, least,
                                    most);
          codes.put(static_cast<std::size_t>(i), code);
        }
      });
  return codes.take();
}

}  // namespace bitsweep::exporting
