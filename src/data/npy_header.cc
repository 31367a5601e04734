#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>

#include "bitsweep/error.h"
#include "data/npy.h"

// The .npy format: magic "\x93NUMPY", version, length, and a Python dictionary with descr,
// fortran_order and shape. Source: numpy.lib.format, versions 1.0 to 3.0.

namespace bitsweep::data {
namespace {

static_assert(std::endian::native == std::endian::little,
              "elements are taken as stored, little endian");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLongestHeader = std::size_t{1} << 20;

struct TypeName {
  std::string_view descr;
  DataType type;
};

constexpr std::array<TypeName, 14> kTypes = {{
    {"f2", DataType::kFloat16},
    {"f4", DataType::kFloat},
    {"f8", DataType::kDouble},
    {"i1", DataType::kInt8},
    {"i2", DataType::kInt16},
    {"i4", DataType::kInt32},
    {"i8", DataType::kInt64},
    {"u1", DataType::kUint8},
    {"u2", DataType::kUint16},
    {"u4", DataType::kUint32},
    {"u8", DataType::kUint64},
    {"b1", DataType::kBool},
    {"c8", DataType::kComplex64},
    {"c16", DataType::kComplex128},
}};

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw Error(ErrorCode::kInvalidData, "data", name + " " + what,
              "write it again with numpy.save or numpy.savez");
}

// A cursor over the dictionary: only what numpy writes is understood.
class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(name_, "has a header that cannot be read");
  }
  bool take_word(std::string_view word) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::optional<std::string> string() {
    skip_spaces();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) fail(name_, "has a header that cannot be read");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  std::int64_t integer() {
    skip_spaces();
    std::int64_t value = -1;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0)
      fail(name_, "has a header with a dimension that cannot be read");
    at_ = static_cast<std::size_t>(end - text_.data());
    take_word("L");  // Python 2 wrote long integers so
    return value;
  }

 private:
  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

void set_type(const std::string& descr, const std::string& name, NpyHeader* header) {
  header->descr = descr;
  if (descr.empty()) fail(name, "has a header without element type");
  const char order = descr[0];
  const std::string_view kind = std::string_view(descr).substr(1);
  for (const TypeName& row : kTypes) {
    if (row.descr != kind) continue;
    header->item_bytes = data_type_size(row.type);
    if (order == '>' && header->item_bytes > 1) {
      throw Error(
          ErrorCode::kInvalidData, "data",
          std::string(name).append(" holds big-endian elements (").append(descr).append(")"),
          "convert it with array.astype(array.dtype.newbyteorder('<'))");
    }
    header->type = row.type;
    return;
  }
  // bfloat16 and 8-bit floats have no numpy type of their own: ml_dtypes saves them as raw bytes.
  if (kind == "V2" || kind == "V1") header->item_bytes = kind == "V2" ? 2 : 1;
}

}  // namespace

std::string NpyHeader::type_text() const {
  if (type != DataType::kUndefined) return std::string(data_type_name(type));
  if (descr.find('O') != std::string::npos) return "object";
  if (descr.find('U') != std::string::npos || descr.find('S') != std::string::npos) return "str";
  return descr;
}

NpyHeader parse_npy_dictionary(std::string_view text, const std::string& name) {
  Parser parser(text, name);
  NpyHeader header;
  bool has_descr = false;
  bool has_order = false;
  bool has_shape = false;
  parser.expect('{');
  while (!parser.take('}')) {
    const std::optional<std::string> key = parser.string();
    if (!key) fail(name, "has a header that cannot be read");
    parser.expect(':');
    if (*key == "descr") {
      const std::optional<std::string> descr = parser.string();
      if (!descr) fail(name, "holds records with several fields, not an array of numbers");
      set_type(*descr, name, &header);
      has_descr = true;
    } else if (*key == "fortran_order") {
      header.fortran_order = parser.take_word("True");
      if (!header.fortran_order && !parser.take_word("False"))
        fail(name, "has a header that cannot be read");
      has_order = true;
    } else if (*key == "shape") {
      parser.expect('(');
      while (!parser.take(')')) {
        header.shape.push_back(parser.integer());
        if (!parser.take(',')) {
          parser.expect(')');
          break;
        }
      }
      has_shape = true;
    } else {
      fail(name, "has a header with the unknown key \"" + *key + "\"");
    }
    parser.take(',');
  }
  if (!has_descr || !has_order || !has_shape) fail(name, "has an incomplete header");
  return header;
}

NpyHeader read_npy_header(ByteStream& stream) {
  const std::string& name = stream.name();
  if (stream.size() < kMagic.size() + 4) fail(name, "is no .npy array");
  std::array<char, 8> start{};
  stream.read(start.data(), start.size());
  if (std::string_view(start.data(), kMagic.size()) != kMagic) fail(name, "is no .npy array");
  const int version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3)
    fail(name, "has version " + std::to_string(version) + " of the .npy format, not 1 to 3");
  std::size_t length = 0;
  std::size_t offset = start.size();
  if (version == 1) {
    std::uint16_t value = 0;
    stream.read(&value, sizeof(value));
    length = value;
    offset += sizeof(value);
  } else {
    std::uint32_t value = 0;
    stream.read(&value, sizeof(value));
    length = value;
    offset += sizeof(value);
  }
  if (length > kLongestHeader || offset + length > stream.size())
    fail(name, "has a header longer than the file");
  std::string text(length, '\0');
  stream.read(text.data(), length);
  NpyHeader header = parse_npy_dictionary(text, name);

  // Missing elements show before the work starts, not in the middle of it.
  if (header.item_bytes > 0) {
    std::uint64_t bytes = header.item_bytes;
    for (const std::int64_t dimension : header.shape) {
      if (dimension != 0 && bytes > std::numeric_limits<std::int64_t>::max() /
                                        static_cast<std::uint64_t>(dimension)) {
        fail(name, "has a shape beyond what a file can hold: " + shape_text(header.shape));
      }
      bytes *= static_cast<std::uint64_t>(dimension);
    }
    if (stream.size() - offset - length < bytes) {
      throw Error(ErrorCode::kInvalidData, "data",
                  name + " is truncated: " + std::to_string(bytes) +
                      " bytes of elements announced, " +
                      std::to_string(stream.size() - offset - length) + " there",
                  "write the file again");
    }
  }
  return header;
}

}  // namespace bitsweep::data
