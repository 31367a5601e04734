#include "simulate/observe/divisor_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "simulate/network/network.h"

namespace bitsweep::simulate {
namespace {

constexpr float kNothingSeen = std::numeric_limits<float>::infinity();

bool divides(const graph::Node& node, int input) {
  if (!node.domain.empty()) return false;
  return node.op_type == "Reciprocal" || (node.op_type == "Div" && input == 1);
}

// The node that divides by a tensor; -1 when none does.
int divider(const graph::Graph& graph, graph::TensorId tensor) {
  for (const graph::Use& use : graph.tensor(tensor).uses) {
    const graph::Node& node = graph.node(use.node);
    if (divides(node, use.input)) return use.node;
    if (node.op_type == "Identity" && node.domain.empty()) {
      if (const int behind = divider(graph, node.outputs[0]); behind >= 0) return behind;
    }
  }
  return -1;
}

graph::TensorId tensor_of(const Network& network, int site) {
  return network.placement().sites[static_cast<std::size_t>(site)].tensor;
}

}  // namespace

DivisorWatch::DivisorWatch(const Network& network) {
  for (const auto& s : network.enabled_state()) {
    const graph::TensorId t = tensor_of(network, s);
    if (!network.graph().tensor(t).is_static && divider(network.graph(), t) >= 0)
      least_.emplace(s, kNothingSeen);
  }
}

void DivisorWatch::see(int site, const Tensor& values) {
  const Tensor wide = values.to_float();
  float least = kNothingSeen;
  for (const float x : wide.floats()) {
    if (!std::isnan(x)) least = std::min(least, std::abs(x));
  }
  const std::lock_guard lock(mutex_);
  float& kept = least_.at(site);
  kept = std::min(kept, least);
}

void DivisorWatch::note(Network& network) const {
  for (const auto& [site, least] : least_) {
    const Quantizer& q = *network.quantizer(site);
    // A zero that the float model divides by, too, is no fault of the grid.
    if (!q.enabled() || !q.encoding() || least == 0.0F || least == kNothingSeen) continue;
    float rounded = 0.0F;
    q.fake_quant(&least, &rounded, {1});
    if (rounded != 0.0F) continue;
    const graph::Node& node =
        network.graph().node(divider(network.graph(), tensor_of(network, site)));
    network.set_note(
        site,
        fmt::format("{}; values down to {:.3g} become 0 on its grid (step {:.3g}) and \"{}\" "
                    "divides by it, so that NaN and infinite values appear: give it more bits",
                    network.reason(site), least, q.encoding()->cells.front().delta, node.name));
  }
}

}  // namespace bitsweep::simulate
