#include "simulate/plain_run.h"

#include <memory>

#include "graph/subgraph.h"

namespace bitsweep::simulate {

using graph::TensorId;

namespace {

// Parameters are stored as the simulation rounds them, other constants up to this width too.
constexpr int kConstantsAreRoundedUpTo = 8;

Tensor rounded_as_quantize_linear(const Quantizer& q, const Tensor& value) {
  Tensor result = Tensor::allocate(value.type(), value.shape());
  FakeQuantPlan(*q.encoding(), Rounding::kQuantizeLinear)
      .apply_typed(value.type(), value.data(), result.mutable_data(), value.shape(), 0,
                   value.size());
  return result;
}

}  // namespace

PlainRun::PlainRun(const Engine& engine, const PlainRunOptions& options) {
  const graph::Graph& graph = engine.graph();
  const State state = options.quantized ? engine.enabled_state() : State();
  engine.check_ready(state);
  graph::SubgraphSpec spec;
  spec.nodes = engine.order().nodes();
  spec.inputs = graph.inputs();
  for (const TensorId t : spec.inputs) input_names_.push_back(graph.tensor(t).name);
  spec.outputs = options.outputs;
  spec.opset = options.opset;
  spec.replaced = options.constants;
  spec.replaced_inputs = options.constant_inputs;
  state_.sites.resize(engine.placement().sites.size());
  for (const int s : state) {
    const graph::Site& site = engine.placement().sites[static_cast<std::size_t>(s)];
    const TensorId t = site.tensor;
    const Quantizer& q = *engine.quantizer(s);
    if (graph.tensor(t).is_static) {
      const bool is_stored_rounded = site.role == graph::TensorRole::kParameter ||
                                     !q.format().is_integer() ||
                                     q.bitwidth() <= kConstantsAreRoundedUpTo;
      const Tensor value = graph.static_value(t);
      spec.replaced[t] =
          is_stored_rounded ? q.fake_quant(value) : rounded_as_quantize_linear(q, value);
      continue;
    }
    spec.quantizers.push_back({t, s, false});
    SiteAction& action = state_.sites[static_cast<std::size_t>(s)];
    action.mode = SiteAction::Mode::kQuantize;
    action.plan = q.encoding()
                      ? std::make_shared<FakeQuantPlan>(*q.encoding(), Rounding::kQuantizeLinear)
                      : q.plan();
  }
  has_nodes_ = spec.state_input = !spec.quantizers.empty();
  session_ = std::make_unique<Session>(
      graph::build_subgraph(graph, spec),
      SessionOptions{.num_threads = 1,
                     .pool_threads = engine.num_threads(),
                     .optimization = Optimization::kNone,
                     .ort_library = engine.options().ort_library,
                     .custom_op_libraries = engine.options().custom_op_libraries});
}

std::vector<Tensor> PlainRun::run(const Feed& feed) const {
  std::vector<Tensor> inputs;
  for (const std::string& name : input_names_) inputs.push_back(feed.at(name));
  return session_->run(inputs, has_nodes_ ? &state_ : nullptr);
}

}  // namespace bitsweep::simulate
