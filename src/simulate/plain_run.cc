#include "simulate/plain_run.h"

#include <memory>

#include "graph/subgraph.h"

namespace bitsweep::simulate {

using graph::TensorId;

PlainRun::PlainRun(const Engine& engine, const PlainRunOptions& options) {
  const graph::Graph& graph = engine.graph();
  const State state = engine.enabled_state();
  engine.check_ready(state);
  graph::SubgraphSpec spec;
  spec.nodes = engine.order().nodes();
  spec.inputs = graph.inputs();
  for (const TensorId t : spec.inputs) input_names_.push_back(graph.tensor(t).name);
  spec.outputs = options.outputs;
  spec.replaced = options.constants;
  state_.sites.resize(engine.placement().sites.size());
  for (const int s : state) {
    const TensorId t = engine.placement().sites[static_cast<std::size_t>(s)].tensor;
    const Quantizer& q = *engine.quantizer(s);
    if (graph.tensor(t).is_static) {
      spec.replaced[t] = q.fake_quant(graph.static_value(t));
      continue;
    }
    spec.quantizers.push_back({t, s, false});
    SiteAction& action = state_.sites[static_cast<std::size_t>(s)];
    action.mode = SiteAction::Mode::kQuantize;
    action.plan =
        q.encoding() ? std::make_shared<FakeQuantPlan>(*q.encoding(), options.rounding) : q.plan();
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
