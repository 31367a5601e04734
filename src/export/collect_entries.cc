#include "export/collect_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "bitsweep/error.h"
#include "export/bias_entries.h"
#include "export/derived_entries.h"
#include "simulate/engine.h"
#include "simulate/network/network.h"

namespace bitsweep::exporting {
namespace {

FileEntry entry_of(const std::string& name, bool parameter, const Quantizer& q) {
  FileEntry entry;
  entry.name = name;
  entry.parameter = parameter;
  entry.format = q.format();
  entry.symmetric = q.symmetric();
  entry.signed_codes = q.symmetric();
  if (!q.format().needs_encoding()) return entry;
  if (!q.encoding()) {
    throw Error(ErrorCode::kNotReady, "export",
                fmt::format("the quantizer of \"{}\" is on but has no encoding", name),
                "calibrate the simulation, load encodings, or switch the quantizer off");
  }
  const Encoding& encoding = *q.encoding();
  const Granularity& g = encoding.granularity;
  entry.kind = g.per_tensor()   ? EntryKind::kPerTensor
               : !g.blockwise() ? EntryKind::kPerChannel
               : q.lpbq()       ? EntryKind::kLpbq
                                : EntryKind::kPerBlock;
  entry.channel_axis = g.channel_axis;
  entry.block_axis = g.block_axis;
  entry.block_size = g.block_size;
  entry.scale_bits = q.lpbq() ? q.lpbq()->scale_bits : 0;
  entry.grid = encoding.grid;
  entry.cells = encoding.cells;
  entry.has_range = true;
  return entry;
}

void apply_sign(FileEntry& entry, ActivationSign sign) {
  if (entry.parameter || !entry.format.is_integer() || sign == ActivationSign::kUnchanged) return;
  const bool before = std::exchange(entry.signed_codes, sign == ActivationSign::kSigned);
  entry.sign_changed = before != entry.signed_codes;
}

}  // namespace

std::vector<FileEntry> collect_entries(const Simulation& simulation,
                                       const CollectOptions& options) {
  const std::set<std::string> parameters(simulation.parameter_names().begin(),
                                         simulation.parameter_names().end());
  BiasEntries found;
  if (options.int32_bias || options.loaded_bias)
    found = bias_entries(simulation, !options.int32_bias);
  std::map<std::string, FileEntry>& biases = found.common;
  std::vector<FileEntry> entries;
  for (const std::string& name : simulation.tensor_names()) {
    const Quantizer& q = *simulation.quantizer(name);
    if (q.enabled()) {
      if (q.format().kind == Format::Kind::kFloat32) continue;  // a copy: nothing to say
      entries.push_back(entry_of(name, parameters.count(name) > 0, q));
      biases.erase(name);
    } else if (const auto bias = biases.find(name); bias != biases.end()) {
      entries.push_back(std::move(bias->second));
      biases.erase(bias);
    }
  }
  for (auto& [name, entry] : biases) entries.push_back(std::move(entry));
  if (options.per_reader) std::ranges::move(found.by_reader, std::back_inserter(entries));
  const graph::Graph& graph = simulation.engine().network().graph();
  for (FileEntry& entry : entries) {
    if (!options.constants_keep_sign || !graph.tensor(graph.find(entry.name)).is_static)
      apply_sign(entry, options.activation_sign);
  }
  // Behind the signs: what repeats a parameter has the parameter's.
  if (options.derived)
    add_derived_entries(graph, simulation.engine().network().placement(), entries);
  return entries;
}

}  // namespace bitsweep::exporting
