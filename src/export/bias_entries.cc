#include "export/bias_entries.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "graph/placement/op_types.h"
#include "simulate/engine.h"
#include "simulate/network/network.h"

namespace bitsweep::exporting {
namespace {

using graph::TensorId;

constexpr double kInt32Steps = 2147483648.0;  // 2^31
constexpr double kSmallestNormalHalf = 6.103515625e-05;
constexpr double kSmallestStep = 0.01 / 4294967295.0;  // of a quantizer of 32 bits

class BiasScales {
 public:
  explicit BiasScales(const Simulation& simulation) : network_(simulation.engine().network()) {
    const auto& sites = network_.placement().sites;
    for (int s = 0; s < static_cast<int>(sites.size()); ++s) {
      site_of_.emplace(sites[static_cast<std::size_t>(s)].tensor, s);
    }
  }

  /// Those that were read from a file. The rules of its simulation may have seen a bias where the
  /// rules here see a constant, such as behind a norm in single nodes.
  BiasEntries loaded() const {
    BiasEntries result;
    for (const auto& [tensor, s] : site_of_) {
      const Quantizer& q = *network_.quantizer(s);
      if (!network_.graph().tensor(tensor).is_static || !is_loaded_bias(q)) continue;
      result.common.emplace(network_.graph().tensor(tensor).name, entry(tensor, *q.encoding()));
    }
    return result;
  }

  BiasEntries entries() {
    std::map<std::string, FileEntry> common;
    std::vector<FileEntry> by_reader;
    std::set<std::string> disputed;
    for (const graph::Operator& op : network_.placement().operators) {
      const TensorId bias = parameter(op, "bias");
      if (bias == graph::kAbsent) continue;
      std::optional<FileEntry> entry = entry_of(op, bias);
      const std::string& name = network_.graph().tensor(bias).name;
      if (!entry) {
        disputed.insert(name);
        continue;
      }
      const auto [it, is_first] = common.emplace(name, *entry);
      if (!is_first && it->second.cells != entry->cells) disputed.insert(name);
      entry->readers = readers(op, bias);
      if (!entry->readers.empty()) by_reader.push_back(std::move(*entry));
    }
    for (const std::string& name : disputed) common.erase(name);
    std::erase_if(by_reader, [&](const FileEntry& e) { return disputed.count(e.name) == 0; });
    return {.common = std::move(common), .by_reader = std::move(by_reader)};
  }

 private:
  // Nodes of an operator that read the bias itself, and not through other nodes.
  std::vector<int> readers(const graph::Operator& op, TensorId bias) const {
    std::vector<int> result;
    for (const graph::Use& use : network_.graph().tensor(bias).uses) {
      if (use.input >= 0 && std::find(op.nodes.begin(), op.nodes.end(), use.node) != op.nodes.end())
        result.push_back(use.node);
    }
    return result;
  }

  static TensorId parameter(const graph::Operator& op, std::string_view kind) {
    for (const auto& [tensor, k] : op.parameters) {
      if (k == kind) return tensor;
    }
    return graph::kAbsent;
  }

  const Quantizer* site(TensorId t) const {
    const auto it = site_of_.find(t);
    return it == site_of_.end() ? nullptr : network_.quantizer(it->second).get();
  }

  static bool is_loaded_bias(const Quantizer& q) {
    return q.encoding() && q.bitwidth() == 32 && q.format().is_integer();
  }

  static bool ready_integer(const Quantizer* q) {
    return q != nullptr && q->enabled() && q->format().is_integer() && q->encoding();
  }

  // The quantizer that decides the grid of a tensor: its own, or the closest upstream behind data
  // movement.
  const Quantizer* effective(TensorId t) const {
    while (t != graph::kAbsent) {
      const Quantizer* q = site(t);
      if (q != nullptr && q->enabled()) return ready_integer(q) ? q : nullptr;
      const int producer = network_.graph().tensor(t).producer;
      if (producer < 0 ||
          !graph::passes_values_through(network_.graph(), network_.graph().node(producer)))
        return nullptr;
      t = network_.graph().node(producer).inputs.front();
    }
    return nullptr;
  }

  // One scale per output channel, or one for all; of blocks the largest of the channel.
  static std::vector<double> weight_scales(const Quantizer& q) {
    const Encoding& encoding = *q.encoding();
    FileEntry layout;
    layout.grid = encoding.grid;
    layout.channel_axis = encoding.granularity.channel_axis;
    const bool single = encoding.granularity.per_tensor();
    std::vector<double> result(
        single ? 1
               : static_cast<std::size_t>(
                     encoding.grid[static_cast<std::size_t>(layout.channel_axis)]),
        0.0);
    for (std::size_t i = 0; i < encoding.cells.size(); ++i) {
      double& scale = result[channel_of(layout, i)];
      scale = std::max(scale, encoding.cells[i].delta);
    }
    if (q.lpbq()) {
      for (double& scale : result) scale = std::ldexp(scale, -q.lpbq()->scale_bits);
    }
    return result;
  }

  std::optional<FileEntry> entry_of(const graph::Operator& op, TensorId id) const {
    const Tensor tensor = network_.graph().static_value(id);
    if (!tensor.defined() || !is_quantizable_type(tensor.type()) || tensor.size() == 0 ||
        op.inputs.empty())
      return {};
    if (const Quantizer* own = site(id); own != nullptr && is_loaded_bias(*own))
      return entry(id, *own->encoding());
    const Quantizer* x = effective(op.inputs.front());
    const Quantizer* w = site(parameter(op, "weight"));
    if (x == nullptr || !ready_integer(w)) return {};
    const Tensor values = tensor.to_float();
    const std::span<const float> b = values.floats();
    for (const float v : b) {
      if (!std::isfinite(v)) return {};
    }
    double floor = tensor.type() == DataType::kFloat16 ? kSmallestNormalHalf
                                                       : std::numeric_limits<float>::min();
    std::vector<double> scales(1, floor);
    bool per_channel = false;
    if (graph::multiplies_by_weight(op.type)) {
      scales = weight_scales(*w);
      for (double& scale : scales) scale *= x->encoding()->cells.front().delta;
      per_channel = !w->granularity().per_tensor();
    } else {
      floor = std::max(floor, kSmallestStep);
      const Quantizer* own = site(id);
      per_channel = own != nullptr && !own->granularity().per_tensor();
      if (per_channel) scales.assign(b.size(), floor);
    }
    if (per_channel) {
      // Groups of a ConvTranspose repeat the channels of its weight.
      const bool repeats = op.type == "ConvTranspose" && b.size() % scales.size() == 0;
      if (b.size() != scales.size() && !repeats) return {};
      const std::size_t channels = scales.size();
      scales.reserve(b.size());
      for (std::size_t i = channels; i < b.size(); ++i) scales.push_back(scales[i % channels]);
    }
    for (std::size_t i = 0; i < b.size(); ++i) {
      double& scale = scales[per_channel ? i : 0];
      scale = std::max({scale, floor, std::abs(static_cast<double>(b[i])) / kInt32Steps});
    }
    return entry(id, tensor, scales, per_channel);
  }

  FileEntry entry(TensorId id, const Encoding& encoding) const {
    FileEntry result = blank(id);
    result.grid = encoding.grid;
    result.channel_axis = encoding.granularity.channel_axis;
    result.kind =
        encoding.granularity.per_tensor() ? EntryKind::kPerTensor : EntryKind::kPerChannel;
    result.cells = encoding.cells;
    return result;
  }

  FileEntry entry(TensorId id, const Tensor& tensor, const std::vector<double>& scales,
                  bool per_channel) const {
    FileEntry result = blank(id);
    if (per_channel) {
      result.kind = EntryKind::kPerChannel;
      // Channels lie on the only axis that is not 1.
      result.grid.assign(tensor.shape().size(), 1);
      const auto axis = std::find(tensor.shape().begin(), tensor.shape().end(),
                                  static_cast<std::int64_t>(scales.size()));
      result.channel_axis = static_cast<int>(axis - tensor.shape().begin());
      result.grid[static_cast<std::size_t>(result.channel_axis)] =
          static_cast<std::int64_t>(scales.size());
    }
    for (const double scale : scales) {
      result.cells.push_back({.min = -kInt32Steps * scale,
                              .max = (kInt32Steps - 1.0) * scale,
                              .delta = scale,
                              .offset = -kInt32Steps});
    }
    return result;
  }

  FileEntry blank(TensorId id) const {
    FileEntry result;
    result.name = network_.graph().tensor(id).name;
    result.parameter = true;
    result.format = Format::integer(32);
    result.symmetric = true;
    result.signed_codes = true;
    result.has_range = true;
    return result;
  }

  const simulate::Network& network_;
  std::map<TensorId, int> site_of_;
};

}  // namespace

BiasEntries bias_entries(const Simulation& simulation, bool loaded_only) {
  BiasScales scales(simulation);
  return loaded_only ? scales.loaded() : scales.entries();
}

}  // namespace bitsweep::exporting
