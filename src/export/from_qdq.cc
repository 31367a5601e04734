#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/error.h"
#include "bitsweep/qdq_export.h"
#include "export/load_entries.h"
#include "export/untie_quantizers.h"
#include "graph/qdq/qdq_strip.h"

namespace bitsweep {
namespace {

using exporting::EntryKind;
using exporting::FileEntry;

Format code_format(DataType type, const std::string& tensor) {
  switch (type) {
    case DataType::kFloat16:
      return Format::parse("float16");
    case DataType::kBfloat16:
      return Format::parse("bfloat16");
    case DataType::kFloat8E4M3FN:
      return Format::parse("float8e4m3fn");
    case DataType::kFloat8E5M2:
      return Format::parse("float8e5m2");
    case DataType::kInt2:
    case DataType::kUint2:
      return Format::integer(2);
    case DataType::kInt4:
    case DataType::kUint4:
      return Format::integer(4);
    case DataType::kInt8:
    case DataType::kUint8:
      return Format::integer(8);
    case DataType::kInt16:
    case DataType::kUint16:
      return Format::integer(16);
    case DataType::kInt32:
      return Format::integer(32);
    default:
      throw Error(ErrorCode::kInvalidModel, "from_onnx_qdq",
                  fmt::format("the codes of \"{}\" have a type that is not simulated", tensor),
                  "use int2, int4, int8, int16, float8e4m3fn or float8e5m2");
  }
}

bool is_signed(DataType type) {
  return type == DataType::kInt2 || type == DataType::kInt4 || type == DataType::kInt8 ||
         type == DataType::kInt16 || type == DataType::kInt32;
}

// QuantizeLinear repeats the scales of blocks over all other axes; here they vary along the
// channels only.
void keep_channels_of_blocks(FileEntry& entry, const Shape& shape, int channel_axis) {
  Shape grid(shape.size(), 1);
  grid[static_cast<std::size_t>(channel_axis)] = shape[static_cast<std::size_t>(channel_axis)];
  grid[static_cast<std::size_t>(entry.block_axis)] =
      shape[static_cast<std::size_t>(entry.block_axis)];
  std::vector<AffineEncoding> cells(static_cast<std::size_t>(num_elements(grid)));
  std::vector<char> known(cells.size(), 0);
  for (std::size_t i = 0; i < entry.cells.size(); ++i) {
    std::size_t rest = i;
    std::size_t stride = 1;
    std::size_t cell = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const std::size_t index = rest % static_cast<std::size_t>(shape[axis]);
      rest /= static_cast<std::size_t>(shape[axis]);
      if (grid[axis] > 1) cell += index * stride;
      stride *= static_cast<std::size_t>(grid[axis]);
    }
    if (known[cell] != 0 && cells[cell] != entry.cells[i]) {
      throw Error(
          ErrorCode::kInvalidModel, "from_onnx_qdq",
          fmt::format("the block scales of \"{}\" vary along more than two axes", entry.name),
          "quantize it with one scale per channel and block");
    }
    cells[cell] = entry.cells[i];
    known[cell] = 1;
  }
  entry.cells = std::move(cells);
  entry.grid = std::move(grid);
  entry.channel_axis = channel_axis;
}

FileEntry entry_of(const graph::QdqReading& reading, int channel_axis, bool parameter) {
  FileEntry entry;
  entry.name = reading.tensor;
  entry.parameter = parameter;
  entry.format = code_format(reading.code_type, reading.tensor);
  if (!entry.format.needs_encoding()) return entry;
  entry.signed_codes = is_signed(reading.code_type);
  const double middle = entry.signed_codes
                            ? static_cast<double>(std::int64_t{1} << (entry.format.bitwidth - 1))
                            : 0.0;
  const Tensor scales = reading.scale.to_float();
  for (std::size_t i = 0; i < scales.floats().size(); ++i) {
    const float scale = scales.floats()[i];
    if (!std::isfinite(scale) || scale <= 0.0F) {
      throw Error(ErrorCode::kInvalidModel, "from_onnx_qdq",
                  fmt::format("a scale of \"{}\" is {}", reading.tensor, scale),
                  "give it finite scales above 0");
    }
    const std::size_t zero = reading.zero_points.size() == 1 ? 0 : i;
    const double offset = entry.format.is_integer()
                              ? -(static_cast<double>(reading.zero_points[zero]) + middle) + 0.0
                              : 0.0;
    entry.cells.push_back({.delta = scale, .offset = offset});
  }
  entry.symmetric =
      entry.signed_codes && entry.format.is_integer() && exporting::has_symmetric_offsets(entry);
  const Shape& shape = reading.scale.shape();
  if (reading.block_size > 0 && !shape.empty()) {
    entry.kind = EntryKind::kPerBlock;
    entry.block_size = reading.block_size;
    entry.block_axis = reading.axis;
    int channel = channel_axis;
    if (channel < 0 || channel == entry.block_axis) channel = entry.block_axis == 0 ? 1 : 0;
    keep_channels_of_blocks(entry, shape, channel);
  } else if (entry.cells.size() > 1) {
    entry.kind = EntryKind::kPerChannel;
    entry.channel_axis = reading.axis;
    entry.axis_from_end = reading.axis < 0;
    entry.grid = {static_cast<std::int64_t>(entry.cells.size())};
  }
  exporting::complete_entry(entry);
  return entry;
}

}  // namespace

Simulation from_onnx_qdq(const Model& model, SimulationOptions options) {
  graph::StrippedModel stripped = graph::strip_qdq(graph::Graph(model));
  Simulation simulation(std::move(stripped.model), std::move(options));
  // The model says what each tensor has; nothing is shared because a rule says so.
  exporting::untie_quantizers(simulation);
  const std::vector<std::string>& names = simulation.tensor_names();
  const std::vector<std::string>& parameters = simulation.parameter_names();
  exporting::EncodingsDocument document{.version = "2.0.0", .entries = {}};
  for (const graph::QdqReading& reading : stripped.readings) {
    const bool has_quantizer = std::find(names.begin(), names.end(), reading.tensor) != names.end();
    // Without one, the value of a constant lies on the grid already; other tensors may repeat what
    // one upstream says, which load_entries() finds out.
    if (!has_quantizer && reading.is_static) continue;
    const bool parameter =
        std::find(parameters.begin(), parameters.end(), reading.tensor) != parameters.end();
    const int channel_axis =
        has_quantizer ? simulation.quantizer(reading.tensor)->possible_channel_axis() : -1;
    document.entries.push_back(entry_of(reading, channel_axis, parameter));
  }
  exporting::load_entries(simulation, std::move(document), "the QDQ model", {.strict = false});
  for (const std::string& name : names) {
    if (simulation.quantizer(name)->enabled()) simulation.quantizer(name)->freeze();
  }
  return simulation;
}

}  // namespace bitsweep
