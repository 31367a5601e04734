#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "bitsweep/tensor.h"
#include "data/byte_stream.h"

namespace bitsweep::data {

/// What the head of an .npy file says about its array.
struct NpyHeader {
  std::string descr;                     ///< numpy's dtype text, e.g. "<f4"
  DataType type = DataType::kUndefined;  ///< kUndefined for types that no model input has
  std::size_t item_bytes = 0;            ///< bytes of one element; 0 when the type is undefined
  bool fortran_order = false;
  Shape shape;

  /// Type as users write it: "float64", "str", "object".
  std::string type_text() const;
};

/// Reads magic, version and dictionary; the stream stands at the first element afterwards.
/// @throws Error(kInvalidData) when that is no .npy file or when elements are missing at the end.
NpyHeader read_npy_header(ByteStream& stream);

/// The dictionary of the header. @throws Error(kInvalidData).
NpyHeader parse_npy_dictionary(std::string_view text, const std::string& name);

/// Reads the array of one .npy stream in slices of whole rows along its first dimension.
class NpyReader {
 public:
  /// @throws as read_npy_header.
  explicit NpyReader(std::unique_ptr<ByteStream> stream);

  const NpyHeader& header() const { return header_; }
  const std::string& name() const { return stream_->name(); }

  /// The next `rows` rows: shape [rows, rest...], as elements of `type` (same width as the stored
  /// type).
  Tensor read_rows(std::int64_t rows, DataType type);
  /// The whole array.
  Tensor read_all(DataType type);

 private:
  std::unique_ptr<ByteStream> stream_;
  NpyHeader header_;
  Tensor whole_;  ///< Fortran order: rows are scattered over the file, so the array is read and
                  ///< turned at once
  std::int64_t row_ = 0;
};

}  // namespace bitsweep::data
