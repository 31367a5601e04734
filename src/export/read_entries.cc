#include "export/read_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "bitsweep/error.h"
#include "export/entry_fields.h"

namespace bitsweep::exporting {
namespace {

using nlohmann::json;

constexpr int kMaxBits = 32;

class Reader {
 public:
  Reader(std::string_view text, std::string file) : file_(std::move(file)) {
    document_ = json::parse(text, nullptr, false);
    if (!document_.is_object()) fail("is no JSON object", "export the encodings again");
  }

  EncodingsDocument read() {
    result_.version = version();
    if (result_.version_2()) {
      for (const json& item : section("encodings", json::value_t::array)) {
        fields_ = EntryFields(file_, name_of(item));
        add(entry_2(item));
      }
    } else {
      read_old("param_encodings", true);
      read_old("activation_encodings", false);
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& fix) const {
    throw Error(ErrorCode::kInvalidData, "encodings", fmt::format("\"{}\" {}", file_, what), fix);
  }

  std::string version() const {
    const auto it = document_.find("version");
    if (it == document_.end()) {
      if (document_.contains("encodings")) return "2.0.0";
      const auto parameters = document_.find("param_encodings");
      if (parameters == document_.end()) {
        fail("has no \"version\" and neither \"encodings\" nor \"param_encodings\"",
             "give an encodings file");
      }
      return parameters->is_object() ? "0.6.1" : "1.0.0";
    }
    const std::string text = it->is_string() ? it->get<std::string>() : it->dump();
    for (const char* known : {"0.6.1", "1.0.0", "2.0.0", "2.1.0"}) {
      if (text == known) return text;
    }
    fail(fmt::format("has version \"{}\"", text), "known are 0.6.1, 1.0.0, 2.0.0 and 2.1.0");
  }

  const json& section(const char* name, json::value_t type) const {
    const auto it = document_.find(name);
    if (it == document_.end())
      fail(fmt::format("has no section \"{}\"", name), "export the encodings again");
    if (it->type() != type) {
      fail(fmt::format("has a section \"{}\" that is no {} as version {} asks for", name,
                       type == json::value_t::array ? "list" : "object", result_.version),
           "correct \"version\", or export the encodings again");
    }
    return *it;
  }

  void read_old(const char* name, bool parameter) {
    if (result_.version == "0.6.1") {
      for (const auto& [tensor, list] : section(name, json::value_t::object).items()) {
        fields_ = EntryFields(file_, tensor);
        add(entry_061(list, parameter));
      }
      return;
    }
    for (const json& item : section(name, json::value_t::array)) {
      fields_ = EntryFields(file_, name_of(item));
      add(entry_100(item, parameter));
    }
  }

  std::string name_of(const json& item) const {
    if (!item.is_object() || !item.contains("name") || !item["name"].is_string()) {
      fail("has an entry without \"name\"", "export the encodings again");
    }
    return item["name"].get<std::string>();
  }

  void add(FileEntry entry) {
    if (!names_.insert(entry.name).second) fields_.fail("is there twice", "remove one of them");
    result_.entries.push_back(std::move(entry));
  }

  void check_cell(const AffineEncoding& cell, int bits) const {
    if (!(static_cast<float>(cell.delta) > 0.0F) ||
        !std::isfinite(static_cast<float>(cell.delta))) {
      fields_.fail(fmt::format("has a scale of {}", cell.delta),
                   "give positive numbers that float32 can hold");
    }
    if (cell.offset > 0.0 || cell.offset < -std::ldexp(1.0, bits)) {
      fields_.fail(
          fmt::format("has a zero point outside of the {} bits: offset {}", bits, cell.offset));
    }
  }

  void finish(FileEntry& entry) const {
    complete_entry(entry);
    for (const AffineEncoding& cell : entry.cells) check_cell(cell, entry.format.bitwidth);
  }

  static Format plain_float(int bits) { return Format::parse(bits == 16 ? "float16" : "float32"); }

  FileEntry entry_061(const json& list, bool parameter) const {
    if (!list.is_array() || list.empty()) fields_.fail("is no list of encodings");
    FileEntry entry;
    entry.name = fields_.entry();
    entry.parameter = parameter;
    const std::string dtype = fields_.text(list.front(), "dtype");
    if (dtype == "float") {
      const int bits = fields_.integer(list.front(), "bitwidth", 16, 32);
      if (bits != 16 && bits != 32) fields_.fail("is a float of neither 16 nor 32 bits");
      entry.format = plain_float(bits);
      return entry;
    }
    if (dtype != "int")
      fields_.fail(fmt::format("has \"dtype\" \"{}\"", dtype), "give \"int\" or \"float\"");
    entry.format = Format::integer(fields_.integer(list.front(), "bitwidth", 2, kMaxBits));
    const json& symmetric = fields_.field(list.front(), "is_symmetric");
    const bool as_text = symmetric == "True" || symmetric == "False";
    if (!as_text && !symmetric.is_boolean())
      fields_.fail("has \"is_symmetric\" that is neither \"True\" nor \"False\"");
    entry.symmetric = as_text ? symmetric == "True" : symmetric.get<bool>();
    entry.signed_codes = entry.symmetric;
    entry.has_range = true;
    for (const json& cell : list) {
      if (!cell.is_object()) fields_.fail("holds something that is no encoding");
      if (fields_.integer(cell, "bitwidth", 2, kMaxBits) != entry.format.bitwidth)
        fields_.fail("has channels of different widths");
      entry.cells.push_back({.min = fields_.number(cell, "min"),
                             .max = fields_.number(cell, "max"),
                             .delta = fields_.number(cell, "scale"),
                             .offset = fields_.number(cell, "offset")});
      if (entry.cells.back().min > entry.cells.back().max)
        fields_.fail("has a range with min above max");
    }
    entry.kind = list.size() == 1 ? EntryKind::kPerTensor : EntryKind::kPerChannel;
    if (list.size() > 1) entry.grid = {static_cast<std::int64_t>(list.size())};
    finish(entry);
    return entry;
  }

  FileEntry entry_100(const json& item, bool parameter) const {
    FileEntry entry;
    entry.name = fields_.entry();
    entry.parameter = parameter;
    const std::string dtype = fields_.text(item, "dtype");
    int bits = fields_.integer(item, "bw", 2, kMaxBits);
    if (dtype == "FLOAT") {
      if (bits != 16 && bits != 32) fields_.fail("is a float of neither 16 nor 32 bits");
      entry.format = plain_float(bits);
      return entry;
    }
    if (dtype != "INT")
      fields_.fail(fmt::format("has \"dtype\" \"{}\"", dtype), "give \"INT\" or \"FLOAT\"");
    const std::string kind = fields_.text(item, "enc_type");
    const std::optional<EntryKind> known = parse_kind(kind);
    if (!known)
      fields_.fail(fmt::format("has \"enc_type\" \"{}\"", kind),
                   "give PER_TENSOR, PER_CHANNEL, PER_BLOCK or LPBQ");
    entry.kind = *known;
    if (!fields_.field(item, "is_sym").is_boolean())
      fields_.fail("has \"is_sym\" that is neither true nor false");
    entry.symmetric = item["is_sym"].get<bool>();
    entry.signed_codes = entry.symmetric;
    const std::vector<double> scale = fields_.list(item, "scale");
    const std::vector<double> offset = fields_.list(item, "offset");
    fields_.same_length(scale.size(), "scale", offset.size(), "offset");
    if (entry.kind == EntryKind::kPerTensor && scale.size() != 1)
      fields_.fail("is per tensor but has several scales");
    if (entry.kind == EntryKind::kPerBlock || entry.kind == EntryKind::kLpbq) {
      entry.block_size = fields_.integer(item, "block_size", 1, std::numeric_limits<int>::max());
      entry.channel_first = true;
    }
    if (entry.kind == EntryKind::kLpbq) {
      const int compressed = fields_.integer(item, "compressed_bw", 2, bits - 1);
      entry.scale_bits = bits - compressed;
      bits = compressed;
      const std::vector<double> multiples = fields_.list(item, "per_block_int_scale");
      if (multiples.size() % scale.size() != 0) {
        fields_.fail(fmt::format("has {} blocks for {} channels", multiples.size(), scale.size()));
      }
      // Which block belongs to which channel shows only where the axes of the target are known.
      for (const double multiple : multiples) {
        if (!(multiple >= 1.0) || multiple != std::floor(multiple))
          fields_.fail("has a block scale that is no integer from 1 on");
        entry.cells.push_back({.delta = multiple, .offset = -std::ldexp(1.0, bits - 1)});
      }
      entry.format = Format::integer(bits);
      entry.channel_scales = scale;
      entry.grid = {static_cast<std::int64_t>(multiples.size())};
      for (const double s : scale) check_cell({.delta = s}, bits);
      return entry;
    }
    entry.format = Format::integer(bits);
    std::vector<double> shift(scale.size(), 0.0);
    if (item.contains("zero_point_shift")) {
      shift = fields_.list(item, "zero_point_shift");
      fields_.same_length(scale.size(), "scale", shift.size(), "zero_point_shift");
    }
    for (std::size_t i = 0; i < scale.size(); ++i) {
      entry.cells.push_back({.delta = scale[i], .offset = offset[i] + shift[i]});
    }
    if (entry.kind != EntryKind::kPerTensor) entry.grid = {static_cast<std::int64_t>(scale.size())};
    finish(entry);
    return entry;
  }

  static std::optional<EntryKind> parse_kind(const std::string& name) {
    for (const EntryKind kind :
         {EntryKind::kPerTensor, EntryKind::kPerChannel, EntryKind::kPerBlock, EntryKind::kLpbq}) {
      if (name == kind_name(kind)) return kind;
    }
    return std::nullopt;
  }

  // "uint8" -> 8 bits without sign; 8-bit floats by name.
  void set_code_type(FileEntry& entry, const std::string& type) const {
    const bool is_unsigned = type.starts_with("uint");
    const std::string digits = type.starts_with("uint")  ? type.substr(4)
                               : type.starts_with("int") ? type.substr(3)
                                                         : "";
    if (!digits.empty() && digits.size() <= 2 &&
        digits.find_first_not_of("0123456789") == std::string::npos) {
      const int bits = std::stoi(digits);
      if (bits >= 2 && bits <= kMaxBits) {
        entry.format = Format::integer(bits);
        entry.signed_codes = !is_unsigned;
        return;
      }
    }
    if (type == "float8e4m3fn" || type == "float8e5m2") {
      entry.format = Format::parse(type);
      return;
    }
    fields_.fail(fmt::format("has \"output_dtype\" \"{}\"", type),
                 "known are int2 to int32, uint2 to uint32, float8e4m3fn, float8e5m2");
  }

  NestedNumbers scales_2(const json& item) const {
    const json& scale = fields_.field(item, "y_scale");
    if (!scale.is_object()) return fields_.numbers(item, "y_scale");
    if (result_.version != "2.1.0")
      fields_.fail("has a quantized \"y_scale\", which only version 2.1.0 knows");
    const NestedNumbers x = fields_.numbers(scale, "x");
    const NestedNumbers x_scale = fields_.numbers(scale, "x_scale");
    std::optional<NestedNumbers> zero;
    if (scale.contains("x_zero_point")) zero = fields_.numbers(scale, "x_zero_point");
    const int axis = scale.contains("axis") ? fields_.integer(scale, "axis", -8, 7) : 1;
    const int block = scale.contains("block_size")
                          ? fields_.integer(scale, "block_size", 0, std::numeric_limits<int>::max())
                          : 0;
    std::optional<NestedNumbers> result = dequantize(x, x_scale, zero, axis, block);
    if (!result) fields_.fail("has a quantized \"y_scale\" whose parts do not fit together");
    return std::move(*result);
  }

  FileEntry entry_2(const json& item) const {
    static const std::set<std::string> kFields = {"name",
                                                  "output_dtype",
                                                  "y_scale",
                                                  "y_zero_point",
                                                  "axis",
                                                  "block_size",
                                                  "per_channel_float_scale",
                                                  "per_block_int_scale"};
    for (const auto& [key, value] : item.items()) {
      if (kFields.count(key) == 0)
        fields_.fail(
            fmt::format("has a field \"{}\" that version {} does not know", key, result_.version));
    }
    FileEntry entry;
    entry.name = fields_.entry();
    set_code_type(entry, fields_.text(item, "output_dtype"));
    NestedNumbers scale;
    const bool lpbq =
        item.contains("per_block_int_scale") || item.contains("per_channel_float_scale");
    if (lpbq) {
      const NestedNumbers channel = fields_.numbers(item, "per_channel_float_scale");
      scale = fields_.numbers(item, "per_block_int_scale");
      if (channel.shape.size() != scale.shape.size() || !entry.format.is_integer()) {
        fields_.fail("has LPBQ scales that do not fit together");
      }
      const std::optional<NestedNumbers> product = multiply(scale, channel);
      if (!product) fields_.fail("has LPBQ scales that do not fit together");
      scale = *product;
      entry.scale_bits =
          entry.format.bitwidth;  // the version fixes the decompressed width at twice the codes
    } else {
      scale = scales_2(item);
    }
    entry.grid = scale.shape;
    const int bits = entry.format.bitwidth;
    std::vector<double> zero(scale.values.size(), 0.0);
    if (item.contains("y_zero_point")) {
      const NestedNumbers given = fields_.numbers(item, "y_zero_point");
      if (given.shape != scale.shape)
        fields_.fail("has zero points in another shape than its scales");
      zero = given.values;
    }
    const double middle = entry.signed_codes ? std::ldexp(1.0, bits - 1) : 0.0;
    for (std::size_t i = 0; i < scale.values.size(); ++i) {
      if (zero[i] != std::floor(zero[i]))
        fields_.fail(fmt::format("has the zero point {}, which is no integer", zero[i]));
      entry.cells.push_back(
          {.delta = scale.values[i],
           .offset = entry.format.is_integer() ? -(zero[i] + middle) + 0.0 : 0.0});
    }
    // Signed codes alone do not make a grid symmetric: activations may be written signed on
    // request.
    entry.symmetric =
        entry.signed_codes && entry.format.is_integer() && has_symmetric_offsets(entry);
    if (item.contains("block_size") || lpbq) {
      entry.kind = lpbq ? EntryKind::kLpbq : EntryKind::kPerBlock;
      entry.block_size = fields_.integer(item, "block_size", 1, std::numeric_limits<int>::max());
      entry.block_axis = axis_of(item, static_cast<int>(entry.grid.size()));
    } else if (!entry.grid.empty()) {
      if (entry.grid.size() != 1) fields_.fail("has nested scales but no \"block_size\"");
      entry.kind = EntryKind::kPerChannel;
      entry.channel_axis = fields_.integer(item, "axis", -8, 7);
      entry.axis_from_end = entry.channel_axis < 0;
    }
    finish(entry);
    return entry;
  }

  int axis_of(const json& item, int rank) const {
    const int axis = fields_.integer(item, "axis", -rank, rank - 1);
    return axis < 0 ? axis + rank : axis;
  }

  std::string file_;
  json document_;
  EncodingsDocument result_;
  EntryFields fields_;
  std::set<std::string> names_;
};

}  // namespace

EncodingsDocument read_entries(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

}  // namespace bitsweep::exporting
