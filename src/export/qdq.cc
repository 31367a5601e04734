#include <algorithm>
#include <utility>
#include <vector>

#include "bitsweep/qdq_export.h"
#include "export/collect_entries.h"
#include "export/qdq_sites.h"
#include "graph/qdq_rewrite.h"
#include "simulate/engine.h"

namespace bitsweep {
namespace {

using exporting::FileEntry;
using graph::TensorId;

constexpr std::int64_t kFirstOpset = 10;  // of QuantizeLinear
constexpr int kBiasBits = 32;

// Stored once: values on the grid, or their codes. QuantizeLinear can't make 32-bit codes.
void place_static(const Simulation& simulation, const FileEntry& entry, const Tensor& value,
                  bool integers, graph::QdqSite& site) {
  if (entry.format.is_integer() && entry.format.bitwidth == kBiasBits) {
    site.codes = exporting::codes_of(entry, value);
    return;
  }
  Tensor rounded = simulation.quantizer(entry.name)->fake_quant(value);
  if (integers) {
    site.codes = exporting::codes_of(entry, rounded);
  } else {
    site.value = std::move(rounded);
  }
}

}  // namespace

Model to_onnx_qdq(const Simulation& simulation, const QdqOptions& options) {
  const graph::Graph& graph = simulation.engine().graph();
  const std::vector<FileEntry> entries =
      exporting::collect_entries(simulation, {.int32_bias = options.int32_bias,
                                              .loaded_bias = options.loaded_bias,
                                              .derived = true,
                                              .activation_sign = options.activation_sign});
  std::vector<graph::QdqSite> sites;
  std::int64_t opset = kFirstOpset;
  for (const FileEntry& entry : entries) {
    const TensorId id = graph.find(entry.name);
    const graph::TensorInfo& info = graph.tensor(id);
    if (info.uses.empty() && !info.is_output) continue;  // nobody reads it
    if (!entry.format.needs_encoding()) {
      // A cast has no pair, but stored values can be rounded once and for all.
      if (entry.parameter && info.producer < 0 && info.is_static) {
        graph::QdqSite site;
        site.tensor = id;
        site.value = simulation.quantizer(entry.name)->fake_quant(graph.static_value(id));
        sites.push_back(std::move(site));
      }
      continue;
    }
    opset = std::max(opset, exporting::required_opset(entry, info.type));
    const Tensor value = info.producer < 0 ? graph.static_value(id) : Tensor();
    graph::QdqSite site =
        exporting::qdq_site(entry, info.type, value.defined() ? value.shape() : Shape());
    site.tensor = id;
    if (value.defined()) place_static(simulation, entry, value, options.integer_weights, site);
    sites.push_back(std::move(site));
  }
  return graph::insert_qdq(graph, sites, opset);
}

}  // namespace bitsweep
