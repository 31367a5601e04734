#include "simulate/first_nan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "simulate/engine.h"
#include "simulate/network/network.h"
#include "simulate/network/plain_run.h"

namespace bitsweep::simulate {
namespace {

using graph::TensorId;

std::size_t count(const Tensor& tensor, bool (*is)(float)) {
  const Tensor wide = tensor.to_float();
  return static_cast<std::size_t>(std::count_if(wide.floats().begin(), wide.floats().end(), is));
}

// Large weights stay where they lie.
std::vector<Tensor> values(const Network& network, const Feed& sample,
                           const std::vector<TensorId>& tensors, bool quantized) {
  return PlainRun(network, {.quantized = quantized, .rounds_as_file = false, .outputs = tensors})
      .run(sample);
}

bool is_nan(float x) { return std::isnan(x); }
bool is_zero(float x) { return x == 0.0F; }

}  // namespace

std::string first_nan(const Simulation& simulation, const Feed& sample) {
  const Network& network = simulation.engine().network();
  const graph::Graph& graph = network.graph();
  std::vector<TensorId> tensors;
  std::map<TensorId, std::size_t> place;
  for (const int n : network.order().nodes()) {
    for (const TensorId t : graph.node(n).outputs) {
      if (t == graph::kAbsent || !is_quantizable_type(graph.tensor(t).type)) continue;
      place.emplace(t, tensors.size());
      tensors.push_back(t);
    }
  }
  const std::vector<Tensor> wanted = values(network, sample, tensors, false);
  const std::vector<Tensor> got = values(network, sample, tensors, true);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (count(got[i], is_nan) == 0 || count(wanted[i], is_nan) > 0) continue;
    const graph::Node& node = graph.node(graph.tensor(tensors[i]).producer);
    std::string text = fmt::format("it begins in \"{}\" ({} \"{}\")", graph.tensor(tensors[i]).name,
                                   node.op_type, node.name);
    std::vector<std::string> zeroed;
    for (const TensorId input : node.inputs) {
      const auto it = place.find(input);
      if (it == place.end()) continue;
      if (count(got[it->second], is_zero) > count(wanted[it->second], is_zero))
        zeroed.push_back(graph.tensor(input).name);
    }
    if (!zeroed.empty())
      text += fmt::format(", where the quantizers turn values of \"{}\" to 0",
                          fmt::join(zeroed, "\" and \""));
    return text;
  }
  return {};
}

}  // namespace bitsweep::simulate
