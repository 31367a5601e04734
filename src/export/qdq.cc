#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "bitsweep/error.h"
#include "bitsweep/qdq_export.h"
#include "export/collect_entries.h"
#include "export/qdq_sites.h"
#include "export/target_profile.h"
#include "graph/file/mapped_file.h"
#include "graph/qdq/qdq_rewrite.h"
#include "quant/fake_quant_plan.h"
#include "simulate/engine.h"
#include "simulate/network/network.h"

namespace bitsweep {
namespace {

using exporting::FileEntry;
using graph::TensorId;

constexpr std::int64_t kFirstOpset = 10;     // of QuantizeLinear
constexpr std::int64_t kBfloat16Opset = 13;  // of Cast
constexpr std::int64_t kHalfScalesOpset = 19;
constexpr int kBiasBits = 32;

// QuantizeLinear rounds exact half steps to even, the simulation upwards. A step of more than 8
// bits is too small for that to show, so constants that are no parameters stay as they are in the
// model, as the reference leaves them.
constexpr int kHalfStepsMatterUpTo = 8;

graph::ComputedTensor rounded(const Quantizer& q, const Tensor& value) {
  // The plan stays as it is, whatever happens to the quantizer before the model is written.
  return {value.type(), value.shape(), [plan = q.plan(), value] {
            Tensor result = Tensor::allocate(value.type(), value.shape());
            plan->apply_typed(value.type(), value.data(), result.mutable_data(), value.shape(), 0,
                              value.size());
            graph::give_back_pages(value);
            return result;
          }};
}

graph::ComputedTensor codes(const FileEntry& entry, graph::ComputedTensor values) {
  const DataType type = exporting::code_data_type(entry);
  Shape shape = values.shape;
  return {type, std::move(shape), [entry, values = std::move(values)] {
            const Tensor value = values.make();
            Tensor result = exporting::codes_of(entry, value);
            graph::give_back_pages(value);
            return result;
          }};
}

// Stored once: values on the grid, or their codes. QuantizeLinear can't make 32-bit codes.
void place_static(const Simulation& simulation, const FileEntry& entry, const Tensor& value,
                  const QdqOptions& options, graph::QdqSite& site) {
  graph::ComputedTensor raw{value.type(), value.shape(), [value] { return value; }};
  if (entry.format.is_integer() && entry.format.bitwidth == kBiasBits) {
    site.codes = codes(entry, std::move(raw));
    return;
  }
  const Quantizer& q = *simulation.quantizer(entry.name);
  const bool keeps_value = (!entry.parameter || options.keep_constants) &&
                           entry.format.is_integer() &&
                           entry.format.bitwidth > kHalfStepsMatterUpTo;
  // A profile may have changed the grid, or it may be that of a neighbour: then nothing was
  // simulated on it.
  const bool changed = !q.encoding() || q.encoding()->cells != entry.cells;
  if ((keeps_value || changed) && !options.integer_weights) return;
  graph::ComputedTensor placed = keeps_value || changed ? std::move(raw) : rounded(q, value);
  if (options.integer_weights) {
    site.codes = codes(entry, std::move(placed));
  } else {
    site.value = std::move(placed);
  }
  site.low = site.high = Tensor();  // it lies inside the grid
}

// A format without a scale: a constant is rounded once and for all, other tensors are cast there
// and back. Nothing where the tensor has that type anyway.
std::optional<graph::QdqSite> cast_site(const Simulation& simulation, const FileEntry& entry,
                                        bool half_casts) {
  const graph::Graph& graph = simulation.engine().network().graph();
  const TensorId id = graph.find(entry.name);
  const graph::TensorInfo& info = graph.tensor(id);
  graph::QdqSite site;
  if (!half_casts && !(entry.parameter && info.is_static)) return std::nullopt;
  if (info.is_static) {
    site.value = rounded(*simulation.quantizer(entry.name), graph.static_value(id));
    return site;
  }
  site.cast_to =
      entry.format.kind == Format::Kind::kBfloat16 ? DataType::kBfloat16 : DataType::kFloat16;
  site.cast_back = info.type;
  if (site.cast_to == site.cast_back) return std::nullopt;
  return site;
}

// Whether a tensor has the grid of another one whose values it moves. In half precision rounding to
// it again is not free: ONNX Runtime computes behind a pair with the float32 in front of its cast.
bool repeats_another(const Simulation& simulation, const FileEntry& entry) {
  const bool bias = entry.format.is_integer() && entry.format.bitwidth == kBiasBits;
  return !bias && simulation.effective_tensor(entry.name) != entry.name;
}

std::vector<FileEntry> all_entries(const Simulation& simulation, const QdqOptions& options) {
  return exporting::collect_entries(simulation, {.int32_bias = options.int32_bias,
                                                 .loaded_bias = options.loaded_bias,
                                                 .derived = true,
                                                 .per_reader = true,
                                                 .constants_keep_sign = options.keep_constants,
                                                 .activation_sign = options.activation_sign});
}

// In ONNX Runtime 1.32 the fused product of 2-bit weights is wrong for other numbers of columns.
constexpr std::int64_t kColumnsOfTwoBits = 4;

// Which codes of 2 bits lie in a type of their own, and a sentence for each of the others.
std::vector<ProfileNote> choose_two_bit_types(const graph::Graph& graph, bool wanted,
                                              std::vector<FileEntry>& entries) {
  std::vector<ProfileNote> notes;
  for (FileEntry& entry : entries) {
    if (!entry.format.is_integer() || entry.format.bitwidth > 2) continue;
    const Tensor value = graph.static_value(graph.find(entry.name));
    const bool computes =
        !value.defined() || value.shape().size() != 2 ||
        (value.shape()[0] % kColumnsOfTwoBits == 0 && value.shape()[1] % kColumnsOfTwoBits == 0);
    entry.two_bit_type = wanted && computes;
    if (entry.two_bit_type) continue;
    notes.push_back(
        {.tensor = entry.name,
         .what = wanted ? "has codes of 2 bits that are stored in 4, because ONNX Runtime computes "
                          "products with a 2-bit matrix wrongly unless its sides are multiples of 4"
                        : "has codes of 2 bits that are stored in 4, because types of 2 bits need "
                          "opset 25; two_bit_types asks for them"});
  }
  return notes;
}

std::vector<exporting::WeightUse> weight_uses(const Simulation& simulation) {
  const graph::Graph& graph = simulation.engine().network().graph();
  std::vector<exporting::WeightUse> uses;
  for (const graph::Operator& op : simulation.engine().network().placement().operators) {
    for (const auto& [tensor, kind] : op.parameters) {
      if (kind != "weight" && kind != "weight_r") continue;
      uses.push_back({graph.tensor(tensor).name, op.type,
                      simulation.effective_tensor(graph.tensor(op.inputs.front()).name)});
    }
  }
  return uses;
}

std::vector<ProfileNote> fit_to_target(const Simulation& simulation, const QdqOptions& options,
                                       std::vector<FileEntry>& entries) {
  std::vector<ProfileNote> notes =
      exporting::apply_profile(options.profile, entries, weight_uses(simulation));
  const std::vector<ProfileNote> storage =
      choose_two_bit_types(simulation.engine().network().graph(), options.two_bit_types, entries);
  notes.insert(notes.end(), storage.begin(), storage.end());
  return notes;
}

}  // namespace

std::vector<ProfileNote> profile_notes(const Simulation& simulation, const QdqOptions& options) {
  std::vector<FileEntry> entries = all_entries(simulation, options);
  return fit_to_target(simulation, options, entries);
}

Model to_onnx_qdq(const Simulation& simulation, const QdqOptions& options) {
  const graph::Graph& graph = simulation.engine().network().graph();
  std::vector<FileEntry> entries = all_entries(simulation, options);
  for (const ProfileNote& note : fit_to_target(simulation, options, entries)) {
    if (!note.refused) continue;
    throw Error(ErrorCode::kInvalidArgument, "export",
                fmt::format("\"{}\" {}", note.tensor, note.what),
                "change its precision, or choose another target profile");
  }
  std::vector<graph::QdqSite> sites;
  std::int64_t opset = kFirstOpset;
  for (const FileEntry& entry : entries) {
    const TensorId id = graph.find(entry.name);
    const graph::TensorInfo& info = graph.tensor(id);
    if (info.uses.empty() && !info.is_output) continue;  // nobody reads it
    if (!entry.format.needs_encoding()) {
      std::optional<graph::QdqSite> site = cast_site(simulation, entry, options.half_casts);
      if (!site) continue;
      site->tensor = id;
      if (site->cast_to == DataType::kBfloat16) opset = std::max(opset, kBfloat16Opset);
      sites.push_back(std::move(*site));
      continue;
    }
    const bool half_scales = exporting::has_half_scales(info.type, options);
    const bool casts = info.type != DataType::kFloat && !half_scales;
    if (casts && repeats_another(simulation, entry)) continue;
    opset = std::max({opset, exporting::required_opset(entry, info.type),
                      half_scales ? kHalfScalesOpset : kFirstOpset});
    const Tensor value = graph.static_value(id);
    graph::QdqSite site =
        exporting::qdq_site(entry, info.type, value.defined() ? value.shape() : Shape(), options);
    site.tensor = id;
    site.readers = entry.readers;
    if (value.defined()) place_static(simulation, entry, value, options, site);
    sites.push_back(std::move(site));
  }
  return graph::insert_qdq(graph, sites, opset);
}

}  // namespace bitsweep
