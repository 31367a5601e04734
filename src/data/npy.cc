#include "data/npy.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "bitsweep/data.h"
#include "bitsweep/error.h"
#include "bitsweep/names.h"

namespace bitsweep::data {
namespace {

// Fortran order -> row-major order. Cost: one pass, strided reads; only for files written from
// transposed arrays.
Tensor to_row_major(const Tensor& from) {
  const Shape& shape = from.shape();
  const std::size_t item = data_type_size(from.type());
  Tensor to = Tensor::allocate(from.type(), shape);
  const auto* source = static_cast<const char*>(from.data());
  auto* target = static_cast<char*>(to.mutable_data());
  std::vector<std::int64_t> stride(shape.size());
  std::int64_t step = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    stride[d] = step;
    step *= shape[d];
  }
  std::vector<std::int64_t> index(shape.size(), 0);
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < from.size(); ++i) {
    std::memcpy(target + static_cast<std::size_t>(i) * item,
                source + static_cast<std::size_t>(at) * item, item);
    for (std::size_t d = shape.size(); d-- > 0;) {
      at += stride[d];
      if (++index[d] < shape[d]) break;
      at -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
  return to;
}

}  // namespace

NpyReader::NpyReader(std::unique_ptr<ByteStream> stream)
    : stream_(std::move(stream)), header_(read_npy_header(*stream_)) {}

Tensor NpyReader::read_all(DataType type) {
  Tensor tensor = Tensor::allocate(type, header_.shape);
  stream_->read(tensor.mutable_data(), tensor.size_bytes());
  return header_.fortran_order && header_.shape.size() > 1 ? to_row_major(tensor) : tensor;
}

Tensor NpyReader::read_rows(std::int64_t rows, DataType type) {
  Shape shape = header_.shape;
  shape[0] = rows;
  if (!header_.fortran_order || shape.size() < 2) {
    Tensor tensor = Tensor::allocate(type, std::move(shape));
    stream_->read(tensor.mutable_data(), tensor.size_bytes());
    return tensor;
  }
  if (!whole_.defined()) whole_ = read_all(type);
  const std::size_t row_bytes = whole_.size_bytes() / static_cast<std::size_t>(header_.shape[0]);
  const char* start =
      static_cast<const char*>(whole_.data()) + static_cast<std::size_t>(row_) * row_bytes;
  row_ += rows;
  return Tensor::borrow(type, std::move(shape), start, std::make_shared<Tensor>(whole_));
}

}  // namespace bitsweep::data

namespace bitsweep {
namespace {

Tensor read_numbers(data::NpyReader reader) {
  if (reader.header().type == DataType::kUndefined) {
    throw Error(ErrorCode::kInvalidData, "data",
                reader.name() + " holds elements of type " + reader.header().type_text(),
                "save an array of numbers");
  }
  return reader.read_all(reader.header().type);
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
  return read_numbers(data::NpyReader(data::open_file_stream(path)));
}

Tensor read_npz(const std::filesystem::path& path, const std::string& array) {
  data::Archive archive(path);
  const std::vector<std::string>& names = archive.names();
  if (std::find(names.begin(), names.end(), array) == names.end()) {
    throw Error(ErrorCode::kNotFound, "data", path.string() + " has no array \"" + array + "\"",
                did_you_mean(array, names) + "choose among: " + quoted_list(names));
  }
  return read_numbers(data::NpyReader(archive.open(array)));
}

}  // namespace bitsweep
