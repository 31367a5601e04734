#include "export/write_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bitsweep/error.h"

namespace bitsweep::exporting {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& what, const std::string& fix) {
  throw Error(ErrorCode::kInvalidArgument, "export", what, fix);
}

void require_expressible(const FileEntry& entry, const std::string& version) {
  const bool old = version == "0.6.1" || version == "1.0.0";
  const bool plain_float = entry.format.kind == Format::Kind::kFloat16;
  if (old && !entry.format.is_integer() && !plain_float) {
    refuse(fmt::format("\"{}\" is {}, which version {} can't say", entry.name, entry.format.name(),
                       version),
           "write version 2.0.0 or a QDQ model, or choose another format");
  }
  if (version == "0.6.1" && entry.kind == EntryKind::kLpbq) {
    refuse(fmt::format("\"{}\" uses LPBQ, which version 0.6.1 can't say", entry.name),
           "write version 1.0.0 or 2.0.0");
  }
}

json producer() { return {{"package", "bitsweep"}, {"version", BITSWEEP_VERSION}}; }

json header(const QuantizerArgs& args, const std::string& version) {
  return {{"producer", producer()},
          {"version", version},
          {"quantizer_args",
           {{"quant_scheme", args.scheme},
            {"param_bitwidth", args.parameter_format.bitwidth},
            {"activation_bitwidth", args.activation_format.bitwidth},
            {"dtype", args.parameter_format.is_integer() ? "int" : "float"},
            {"is_symmetric", args.symmetric},
            {"per_channel_quantization", args.per_channel}}}};
}

json entry_061(const FileEntry& entry) {
  json list = json::array();
  if (!entry.format.is_integer()) {
    list.push_back({{"bitwidth", entry.format.bitwidth}, {"dtype", "float"}});
    return list;
  }
  // The range is that of all codes, of which a strictly symmetric grid, signed or not, leaves out
  // the last one.
  const double num_steps = std::ldexp(1.0, entry.format.bitwidth) - 1.0;
  for (const AffineEncoding& cell : entry.cells) {
    const double unused = num_steps - std::round((cell.max - cell.min) / cell.delta);
    list.push_back({{"min", cell.min},
                    {"max", cell.max + unused * cell.delta},
                    {"scale", cell.delta},
                    {"offset", cell.offset},
                    {"bitwidth", entry.format.bitwidth},
                    {"dtype", "int"},
                    {"is_symmetric", entry.symmetric ? "True" : "False"}});
  }
  return list;
}

// Order of the cells in 1.0.0: a matrix with the channels in columns is turned, so that the channel
// comes first.
std::vector<std::size_t> flat_order(const FileEntry& entry) {
  std::vector<std::size_t> order(entry.cells.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (entry.grid.size() != 2 || entry.channel_axis != 1) return order;
  const auto rows = static_cast<std::size_t>(entry.grid[0]);
  const auto columns = static_cast<std::size_t>(entry.grid[1]);
  for (std::size_t c = 0, next = 0; c < columns; ++c) {
    for (std::size_t r = 0; r < rows; ++r) order[next++] = r * columns + c;
  }
  return order;
}

json entry_100(const FileEntry& entry) {
  json item = {{"name", entry.name},
               {"dtype", entry.format.is_integer() ? "INT" : "FLOAT"},
               {"bw", entry.format.bitwidth},
               {"enc_type", kind_name(entry.kind)}};
  if (!entry.format.is_integer()) return item;
  item["is_sym"] = entry.symmetric;
  const bool blocks = entry.kind == EntryKind::kPerBlock || entry.kind == EntryKind::kLpbq;
  if (blocks) item["block_size"] = entry.block_size;
  std::vector<std::size_t> order = flat_order(entry);
  if (entry.kind == EntryKind::kLpbq) {
    const LpbqScales scales = lpbq_scales(entry);
    const int bits = entry.format.bitwidth + entry.scale_bits;
    item["bw"] = bits;
    item["compressed_bw"] = entry.format.bitwidth;
    item["scale"] = scales.channel;
    item["offset"] = std::vector<double>(scales.channel.size(), -std::ldexp(1.0, bits - 1));
    json multiples = json::array();
    for (const std::size_t i : order) multiples.push_back(scales.block[i]);
    item["per_block_int_scale"] = std::move(multiples);
    return item;
  }
  std::vector<double> scale;
  std::vector<double> offset;
  std::vector<double> shift;
  for (const std::size_t i : order) {
    const AffineEncoding& cell = entry.cells[i];
    scale.push_back(cell.delta);
    offset.push_back(std::floor(cell.offset) + 0.0);
    shift.push_back(cell.offset - std::floor(cell.offset));
  }
  if (std::any_of(shift.begin(), shift.end(), [](double s) { return s != 0.0; }))
    item["zero_point_shift"] = shift;
  item["scale"] = std::move(scale);
  item["offset"] = std::move(offset);
  return item;
}

// Values of the cells as a number, a list, or lists in lists after the shape.
template <typename T>
json nested(const Shape& shape, const std::vector<T>& values) {
  if (shape.empty()) return values.front();
  std::vector<json> level(values.begin(), values.end());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto length = static_cast<std::size_t>(shape[axis]);
    std::vector<json> above;
    for (std::size_t i = 0; i < level.size(); i += length) {
      above.emplace_back(json::array());
      for (std::size_t k = 0; k < length; ++k) above.back().push_back(std::move(level[i + k]));
    }
    level = std::move(above);
  }
  return level.front();
}

json entry_200(const FileEntry& entry) {
  json item = {{"name", entry.name}, {"output_dtype", code_type(entry)}};
  Shape shape = entry.grid;
  if (entry.kind == EntryKind::kPerChannel) {
    item["axis"] = entry.channel_axis;
    shape = {entry.grid[static_cast<std::size_t>(entry.channel_axis)]};
  } else if (entry.kind != EntryKind::kPerTensor) {
    item["axis"] = entry.block_axis;
    item["block_size"] = entry.block_size;
  }
  if (entry.kind == EntryKind::kLpbq) {
    const LpbqScales scales = lpbq_scales(entry);
    Shape channels(entry.grid.size(), 1);
    channels[static_cast<std::size_t>(entry.channel_axis)] =
        static_cast<std::int64_t>(scales.channel.size());
    item["per_channel_float_scale"] = nested(channels, scales.channel);
    item["per_block_int_scale"] = nested(shape, scales.block);
    return item;
  }
  std::vector<double> scale;
  std::vector<std::int64_t> zero;
  for (std::size_t i = 0; i < entry.cells.size(); ++i) {
    scale.push_back(entry.cells[i].delta);
    zero.push_back(zero_point(entry, i));
  }
  item["y_scale"] = nested(shape, scale);
  // Written even as 0 where a sign was asked for: as the reference does.
  if (entry.sign_changed ||
      std::any_of(zero.begin(), zero.end(), [](std::int64_t z) { return z != 0; })) {
    item["y_zero_point"] = nested(shape, zero);
  }
  return item;
}

}  // namespace

std::string code_type(const FileEntry& entry) {
  if (!entry.format.is_integer()) return entry.format.name();
  return fmt::format("{}int{}", entry.signed_codes ? "" : "u", entry.format.bitwidth);
}

std::int64_t zero_point(const FileEntry& entry, std::size_t cell) {
  const double offset = entry.cells[cell].offset;
  if (offset != std::floor(offset)) {
    refuse(fmt::format(
               "the zero point of \"{}\" is shifted by half a step, which QuantizeLinear can't say",
               entry.name),
           "write version 1.0.0, or set the zero point shift to 0");
  }
  if (!entry.format.is_integer()) return 0;
  const auto unsigned_zero = static_cast<std::int64_t>(-offset);
  return entry.signed_codes ? unsigned_zero - (std::int64_t{1} << (entry.format.bitwidth - 1))
                            : unsigned_zero;
}

std::string write_entries(const std::vector<FileEntry>& entries, const QuantizerArgs& args,
                          const std::string& version) {
  if (version != "0.6.1" && version != "1.0.0" && version != "2.0.0") {
    refuse(fmt::format("version \"{}\" of encodings files can't be written", version),
           "use 0.6.1, 1.0.0 or 2.0.0");
  }
  for (const FileEntry& entry : entries) require_expressible(entry, version);
  json document;
  if (version == "2.0.0") {
    json list = json::array();
    for (const FileEntry& entry : entries) {
      if (entry.format.needs_encoding()) list.push_back(entry_200(entry));
    }
    document = {{"producer", producer()}, {"version", version}, {"encodings", std::move(list)}};
  } else {
    document = header(args, version);
    const bool named = version == "0.6.1";
    json parameters = named ? json::object() : json::array();
    json activations = parameters;
    for (const FileEntry& entry : entries) {
      json& section = entry.parameter ? parameters : activations;
      if (named) {
        section[entry.name] = entry_061(entry);
      } else {
        section.push_back(entry_100(entry));
      }
    }
    document["param_encodings"] = std::move(parameters);
    document["activation_encodings"] = std::move(activations);
  }
  return document.dump(4);
}

}  // namespace bitsweep::exporting
