#include "bitsweep/format.h"

#include <array>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/error.h"
#include "bitsweep/names.h"

namespace bitsweep {
namespace {

constexpr int kMinIntegerBits = 2;
constexpr int kMaxIntegerBits = 32;

struct NamedFormat {
  std::string_view name;
  Format format;
};

constexpr std::array<NamedFormat, 5> kFloats = {{
    {"float16", {Format::Kind::kFloat16, 16}},
    {"bfloat16", {Format::Kind::kBfloat16, 16}},
    {"float32", {Format::Kind::kFloat32, 32}},
    {"float8e4m3fn", {Format::Kind::kFloat8E4M3FN, 8}},
    {"float8e5m2", {Format::Kind::kFloat8E5M2, 8}},
}};

}  // namespace

Format Format::integer(int bitwidth) {
  if (bitwidth < kMinIntegerBits || bitwidth > kMaxIntegerBits) {
    throw Error(ErrorCode::kInvalidArgument, "format",
                "an integer format cannot have " + std::to_string(bitwidth) + " bits",
                "choose 2 to 32");
  }
  return {Kind::kInt, bitwidth};
}

Format Format::parse(std::string_view name) {
  for (const NamedFormat& row : kFloats) {
    if (row.name == name) return row.format;
  }
  if (name.starts_with("int")) {
    int bits = 0;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + 3, end, bits);
    if (error == std::errc() && stop == end) return integer(bits);
  }
  std::vector<std::string> known{"int2 to int32"};
  for (const NamedFormat& row : kFloats) known.emplace_back(row.name);
  throw unknown_name("format", "format", name, known);
}

std::string Format::name() const {
  for (const NamedFormat& row : kFloats) {
    if (row.format.kind == kind) return std::string(row.name);
  }
  return "int" + std::to_string(bitwidth);
}

}  // namespace bitsweep
