#include "simulate/network/plain_run.h"

#include <memory>

#include "graph/pieces/subgraph.h"

namespace bitsweep::simulate {

using graph::TensorId;

namespace {

// Parameters are stored as the simulation rounds them, other constants up to this width too.
constexpr int kConstantsAreRoundedUpTo = 8;

// The value of a site, rounded as the file has it.
std::shared_ptr<const FakeQuantPlan> plan_of(const Quantizer& q, bool rounds_as_file) {
  if (!rounds_as_file || !q.encoding()) return q.plan();
  return std::make_shared<FakeQuantPlan>(*q.encoding(), Rounding::kQuantizeLinear);
}

bool is_stored_rounded(const graph::Site& site, const Quantizer& q) {
  return site.role == graph::TensorRole::kParameter || !q.format().is_integer() ||
         q.bitwidth() <= kConstantsAreRoundedUpTo;
}

Tensor applied(const FakeQuantPlan& plan, const Tensor& value) {
  Tensor result = Tensor::allocate(value.type(), value.shape());
  plan.apply_typed(value.type(), value.data(), result.mutable_data(), value.shape(), 0,
                   value.size());
  return result;
}

}  // namespace

bool has_large_weights(const Network& network) {
  const graph::Graph& graph = network.graph();
  std::size_t bytes = 0;
  for (TensorId t = 0; t < static_cast<TensorId>(graph.tensors().size()); ++t) {
    if (graph.tensor(t).is_static) bytes += graph.static_value(t).size_bytes();
  }
  return bytes > network.options().calibration_copies_bytes;
}

PlainRun::PlainRun(const Network& network, const PlainRunOptions& options) {
  const graph::Graph& graph = network.graph();
  const State state = options.quantized ? network.enabled_state() : State();
  network.check_ready(state);
  graph::SubgraphSpec spec;
  spec.nodes = network.order().nodes();
  spec.inputs = graph.inputs();
  for (const TensorId t : spec.inputs) input_names_.push_back(graph.tensor(t).name);
  spec.outputs = options.outputs;
  spec.opset = options.opset;
  spec.replaced = options.constants;
  spec.replaced_inputs = options.constant_inputs;
  const bool keeps_copies = !has_large_weights(network);
  state_.sites.resize(network.placement().sites.size());
  for (const int s : state) {
    const graph::Site& site = network.placement().sites[static_cast<std::size_t>(s)];
    const TensorId t = site.tensor;
    const Quantizer& q = *network.quantizer(s);
    const bool is_static = graph.tensor(t).is_static;
    const auto plan =
        plan_of(q, options.rounds_as_file && !(is_static && is_stored_rounded(site, q)));
    // The runtime leaves out the rounding to half of what its own kernels compute in float32 and a
    // cast takes back there; only with the casts of the file it does the same here.
    const DataType type = graph.tensor(t).type;
    const bool casts = type != DataType::kFloat && q.format().needs_encoding();
    if (is_static && keeps_copies && !casts) {
      spec.replaced[t] = applied(*plan, graph.static_value(t));
      continue;
    }
    if (is_static && network.order().last_read(t) < 0) continue;  // nobody reads it
    spec.quantizers.push_back(
        {.tensor = t, .quantizer = s, .cast_back = casts ? type : DataType::kUndefined});
    SiteAction& action = state_.sites[static_cast<std::size_t>(s)];
    action.mode = SiteAction::Mode::kQuantize;
    action.plan = plan;
    action.input_is_stored = is_static;
  }
  has_nodes_ = spec.state_input = !spec.quantizers.empty();
  session_ = std::make_unique<Session>(
      graph::build_subgraph(graph, spec),
      SessionOptions{.num_threads = 1,
                     .pool_threads = network.num_threads(),
                     .optimization = Optimization::kNone,
                     .ort_library = network.options().ort_library,
                     .custom_op_libraries = network.options().custom_op_libraries});
}

std::vector<Tensor> PlainRun::run(const Feed& feed) const {
  std::vector<Tensor> inputs;
  for (const std::string& name : input_names_) inputs.push_back(feed.at(name));
  return session_->run(inputs, has_nodes_ ? &state_ : nullptr);
}

}  // namespace bitsweep::simulate
