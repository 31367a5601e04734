#include "export/derived_entries.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "graph/placement/op_types.h"

namespace bitsweep::exporting {
namespace {

using graph::TensorId;

class Derivation {
 public:
  Derivation(const graph::Graph& graph, const graph::Placement& placement,
             std::vector<FileEntry>& entries)
      : graph_(graph), entries_(entries) {
    for (std::size_t i = 0; i < entries.size(); ++i) index_.emplace(entries[i].name, i);
    for (const auto& site : placement.sites) known_.insert(site.tensor);
    for (const graph::Operator& op : placement.operators) {
      if (op.nodes.size() > 1) inside_.insert(op.nodes.begin(), op.nodes.end());
    }
  }

  void run() {
    const auto& nodes = graph_.nodes();
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (usable(nodes[n], static_cast<int>(n), true)) forward(nodes[n]);
    }
    for (std::size_t n = nodes.size(); n-- > 0;) {
      if (usable(nodes[n], static_cast<int>(n), false)) backward(nodes[n]);
    }
  }

 private:
  bool usable(const graph::Node& node, int index, bool forward) const {
    if (!node.domain.empty() || inside_.count(index) > 0 || node.is_dead) return false;
    // In front of a quantizer a filler may be rounded as well as behind it.
    if (node.op_type == "Pad") return !forward || pads_with_zeros(node);
    return selects(node) || graph::moves_data(node.op_type) || graph::joins_inputs(node.op_type);
  }

  // Each output value is one of the inputs', and rounding does not change which is the larger.
  static bool selects(const graph::Node& node) {
    return node.op_type == "Clip" || node.op_type == "Max" || node.op_type == "Min";
  }

  // Other fillers may lie between two codes.
  bool pads_with_zeros(const graph::Node& node) const {
    if (node.attributes.count("value") > 0) return node.attributes.at("value").f == 0.0F;
    const auto mode = node.attributes.find("mode");
    if (mode != node.attributes.end() && mode->second.s != "constant") return true;
    if (node.inputs.size() < 3 || node.inputs[2] == graph::kAbsent) return true;
    const Tensor filler = graph_.static_value(node.inputs[2]);
    return filler.defined() && is_quantizable_type(filler.type()) && filler.size() == 1 &&
           filler.to_float().floats().front() == 0.0F;
  }

  bool is_float(TensorId t) const {
    return t != graph::kAbsent && is_quantizable_type(graph_.tensor(t).type);
  }

  // The data of an operator: some join or choose from all float inputs, the others move the first.
  std::vector<TensorId> data_inputs(const graph::Node& node, bool with_filler) const {
    std::vector<TensorId> result;
    const bool all = selects(node) || graph::joins_inputs(node.op_type) ||
                     (with_filler && node.op_type == "Pad");
    const std::size_t count =
        all ? node.inputs.size() : std::min<std::size_t>(1, node.inputs.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (is_float(node.inputs[i])) result.push_back(node.inputs[i]);
    }
    return result;
  }

  std::vector<TensorId> data_outputs(const graph::Node& node) const {
    std::vector<TensorId> result;
    for (const TensorId t : node.outputs) {
      if (is_float(t)) result.push_back(t);
    }
    return result;
  }

  // A bound or filler that the rules know, so that a file with it can be read back.
  bool may_be_constant(const graph::Node& node, TensorId t) const {
    return (selects(node) || node.op_type == "Pad") && known_.count(t) > 0;
  }

  const FileEntry* find(TensorId t) const {
    const auto it = index_.find(graph_.tensor(t).name);
    return it == index_.end() ? nullptr : &entries_[it->second];
  }

  // The entry that all tensors share, if it can be copied; -1 otherwise.
  int common(std::span<const TensorId> tensors) const {
    const FileEntry* first = nullptr;
    for (const TensorId t : tensors) {
      const FileEntry* entry = find(t);
      if (entry == nullptr || entry->kind != EntryKind::kPerTensor ||
          !entry->format.needs_encoding())
        return -1;
      if (entry->format.is_integer() && entry->format.bitwidth >= 32) return -1;
      if (first == nullptr) first = entry;
      if (entry->format != first->format || entry->symmetric != first->symmetric ||
          entry->cells != first->cells)
        return -1;
    }
    return first == nullptr ? -1 : static_cast<int>(first - entries_.data());
  }

  void copy(int source, TensorId target) {
    FileEntry entry = entries_[static_cast<std::size_t>(source)];
    entry.name = graph_.tensor(target).name;
    entry.parameter = false;
    index_.emplace(entry.name, entries_.size());
    entries_.push_back(std::move(entry));
  }

  void forward(const graph::Node& node) {
    const int source = common(data_inputs(node, false));
    if (source < 0) return;
    for (const TensorId t : data_outputs(node)) {
      if (find(t) == nullptr) copy(source, t);
    }
  }

  void backward(const graph::Node& node) {
    const int source = common(data_outputs(node));
    if (source < 0) return;
    for (const TensorId t : data_inputs(node, true)) {
      const graph::TensorInfo& info = graph_.tensor(t);
      const bool constant = info.is_static && !may_be_constant(node, t);
      if (find(t) == nullptr && info.uses.size() == 1 && !info.is_output && !constant)
        copy(source, t);
    }
  }

  const graph::Graph& graph_;
  std::vector<FileEntry>& entries_;
  std::map<std::string, std::size_t> index_;
  std::set<TensorId> known_;  // tensors with a quantizer, on or off
  std::set<int> inside_;      // nodes of fused operators, whose inner tensors have no grid
};

}  // namespace

void add_derived_entries(const graph::Graph& graph, const graph::Placement& placement,
                         std::vector<FileEntry>& entries) {
  Derivation(graph, placement, entries).run();
}

}  // namespace bitsweep::exporting
