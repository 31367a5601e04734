#include "bitsweep/layer_error.h"

#include <limits>
#include <map>

#include "bitsweep/error.h"
#include "simulate/engine.h"
#include "simulate/whole_runs.h"
#include "sweep/metrics/sums.h"

namespace bitsweep {
namespace {

using graph::TensorId;

std::vector<LayerError> layers_of(const Simulation& simulation, std::vector<TensorId>* tensors) {
  const simulate::Network& network = simulation.engine().network();
  std::map<std::string, TensorId, std::less<>> quantized;
  for (const graph::Site& site : network.placement().sites) {
    if (network.order().is_dynamic(site.tensor))
      quantized.emplace(network.graph().tensor(site.tensor).name, site.tensor);
  }
  std::vector<LayerError> layers;
  for (const OperatorInfo& op : simulation.operators()) {
    if (op.outputs.empty()) continue;
    const auto found = quantized.find(op.outputs.front());
    if (found == quantized.end()) continue;
    layers.push_back({.layer = op.name, .tensor = found->first});
    tensors->push_back(found->second);
  }
  return layers;
}

}  // namespace

std::vector<LayerError> layer_errors(Simulation& simulation, SampleSource& samples,
                                     std::int64_t max_samples,
                                     const std::function<bool(std::int64_t)>& on_sample) {
  std::vector<TensorId> tensors;
  std::vector<LayerError> layers = layers_of(simulation, &tensors);
  if (layers.empty()) {
    throw Error(ErrorCode::kNotReady, "layer errors", "no operator's output has a quantizer",
                "choose rules that quantize activations");
  }
  simulate::WholeRuns& runs = simulation.engine().whole_runs();
  const simulate::State enabled = simulation.engine().network().enabled_state();
  std::vector<double> squares(layers.size(), 0.0);
  std::vector<double> counts(layers.size(), 0.0);
  Feed feed;
  std::int64_t num_samples = 0;
  samples.rewind();
  while (num_samples != max_samples && samples.next(&feed)) {
    simulation.check_feed(feed);
    const std::vector<Tensor> reference = runs.run_tensors({}, feed, tensors);
    const std::vector<Tensor> simulated = runs.run_tensors(enabled, feed, tensors);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const Tensor r = reference[i].to_float();
      const Tensor q = simulated[i].to_float();
      squares[i] += q.shape() == r.shape() ? scoring::sum_squared_error(r.floats(), q.floats())
                                           : std::numeric_limits<double>::quiet_NaN();
      counts[i] += static_cast<double>(r.size());
    }
    ++num_samples;
    if (on_sample && on_sample(num_samples)) break;
  }
  if (num_samples == 0)
    throw Error(ErrorCode::kInvalidData, "layer errors", "there is no sample", "give at least one");
  for (std::size_t i = 0; i < layers.size(); ++i)
    layers[i].mse = counts[i] > 0.0 ? squares[i] / counts[i] : 0.0;
  return layers;
}

}  // namespace bitsweep
