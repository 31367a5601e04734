#include "export/ort_overrides.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "bitsweep/error.h"
#include "export/write_entries.h"

namespace bitsweep::exporting {
namespace {

using nlohmann::json;

struct Type {
  const char* name;
  int bits;
  bool is_signed;
};
constexpr std::array<Type, 6> kTypes = {{{"QUInt8", 8, false},
                                         {"QInt8", 8, true},
                                         {"QUInt16", 16, false},
                                         {"QInt16", 16, true},
                                         {"QUInt4", 4, false},
                                         {"QInt4", 4, true}}};

const char* type_name(const FileEntry& entry) {
  if (entry.format.is_integer()) {
    for (const Type& type : kTypes) {
      if (type.bits == entry.format.bitwidth && type.is_signed == entry.signed_codes)
        return type.name;
    }
  }
  throw Error(ErrorCode::kInvalidArgument, "export",
              fmt::format("\"{}\" is {}, which TensorQuantOverrides can't say", entry.name,
                          entry.format.name()),
              "choose 4, 8 or 16 bits, or write an encodings file");
}

class Reader {
 public:
  Reader(std::string_view text, std::string source) : source_(std::move(source)) {
    document_ = json::parse(text, nullptr, false);
    if (!document_.is_object()) fail("is no dictionary of overrides");
  }

  EncodingsDocument read() {
    EncodingsDocument result{.version = "2.0.0", .entries = {}};
    for (const auto& [name, list] : document_.items()) {
      tensor_ = name;
      if (!list.is_array() || list.empty()) fail_tensor("is no list of overrides");
      result.entries.push_back(entry(list));
    }
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::kInvalidData, "encodings", fmt::format("\"{}\" {}", source_, what),
                "give TensorQuantOverrides as ONNX Runtime reads them");
  }
  [[noreturn]] void fail_tensor(const std::string& what) const {
    fail(fmt::format("has overrides for \"{}\" whose value {}", tensor_, what));
  }

  double number(const json& item, const char* key) const {
    if (!item.contains(key)) fail_tensor(fmt::format("lacks \"{}\"", key));
    const json& value = item[key];
    const double result =
        value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (!std::isfinite(result)) fail_tensor(fmt::format("has a \"{}\" that is no number", key));
    return result;
  }

  FileEntry entry(const json& list) const {
    FileEntry result;
    result.name = tensor_;
    set_type(result, list.front());
    const double middle = result.signed_codes ? std::ldexp(1.0, result.format.bitwidth - 1) : 0.0;
    for (const json& item : list) {
      if (!item.is_object()) fail_tensor("holds something else than dictionaries");
      if (item.contains("convert")) fail_tensor("has a conversion, which is not simulated");
      result.cells.push_back(cell(item, result, middle));
    }
    result.symmetric = result.signed_codes && has_symmetric_offsets(result);
    if (list.front().contains("axis")) {
      result.kind = EntryKind::kPerChannel;
      result.channel_axis = static_cast<int>(number(list.front(), "axis"));
      result.axis_from_end = result.channel_axis < 0;
      result.grid = {static_cast<std::int64_t>(result.cells.size())};
    } else if (result.cells.size() > 1) {
      fail_tensor("has several scales but no \"axis\"");
    }
    complete_entry(result);
    return result;
  }

  void set_type(FileEntry& entry, const json& first) const {
    const std::string name =
        first.is_object() && first.contains("quant_type") && first["quant_type"].is_string()
            ? first["quant_type"].get<std::string>()
            : "";
    for (const Type& type : kTypes) {
      if (name != type.name) continue;
      entry.format = Format::integer(type.bits);
      entry.signed_codes = type.is_signed;
      return;
    }
    fail_tensor(fmt::format("has the \"quant_type\" \"{}\"", name));
  }

  AffineEncoding cell(const json& item, const FileEntry& entry, double middle) const {
    const double steps = std::ldexp(1.0, entry.format.bitwidth) - 1.0;
    if (item.contains("scale") || item.contains("zero_point")) {
      const double scale = number(item, "scale");
      const double zero = number(item, "zero_point");
      if (!(scale > 0.0)) fail_tensor("has a scale that is not positive");
      if (zero != std::floor(zero) || zero + middle < 0.0 || zero + middle > steps)
        fail_tensor(fmt::format("has the zero point {}, which its type can't hold", zero));
      return {.delta = scale, .offset = -(zero + middle) + 0.0};
    }
    const double low = number(item, "rmin");
    const double high = number(item, "rmax");
    if (low > high) fail_tensor("has an \"rmin\" above its \"rmax\"");
    const AffineEncoding result = make_encoding(
        low, high,
        {.bitwidth = entry.format.bitwidth, .symmetric = item.value("symmetric", false)});
    return {.delta = result.delta, .offset = result.offset};
  }

  std::string source_;
  json document_;
  std::string tensor_;
};

}  // namespace

std::string write_ort_overrides(const std::vector<FileEntry>& entries) {
  json document = json::object();
  for (const FileEntry& entry : entries) {
    if (!entry.format.needs_encoding()) continue;  // stays in float
    const char* type = type_name(entry);
    if (entry.block_size > 0) {
      throw Error(
          ErrorCode::kInvalidArgument, "export",
          fmt::format("\"{}\" has blocks, which TensorQuantOverrides can't say", entry.name),
          "choose one scale per channel, or write an encodings file");
    }
    json list = json::array();
    for (std::size_t i = 0; i < entry.cells.size(); ++i) {
      json item = {{"quant_type", type},
                   {"scale", entry.cells[i].delta},
                   {"zero_point", zero_point(entry, i)}};
      if (entry.kind == EntryKind::kPerChannel) item["axis"] = entry.channel_axis;
      list.push_back(std::move(item));
    }
    document[entry.name] = std::move(list);
  }
  return document.dump(4);
}

EncodingsDocument read_ort_overrides(std::string_view text, const std::string& source) {
  return Reader(text, source).read();
}

}  // namespace bitsweep::exporting
