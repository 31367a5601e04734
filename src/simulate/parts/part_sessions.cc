#include "simulate/parts/part_sessions.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/freed_memory.h"
#include "graph/pieces/subgraph.h"
#include "simulate/network/blocked_layout.h"

namespace bitsweep::simulate {

using graph::TensorId;

namespace {

// Sessions for observing have keys of their own, to be dropped together.
constexpr const char* kObserveKey = "observe ";

// Operators whose result is a buffer of its own: never a view of an input, never removed by the
// runtime's optimizer. Only behind these may a quantizer overwrite its input.
bool writes_own_buffer(const graph::Graph& graph, const graph::Node& node) {
  static const std::set<std::string, std::less<>> kAlways = {"Conv",
                                                             "ConvTranspose",
                                                             "Gemm",
                                                             "MatMul",
                                                             "Relu",
                                                             "LeakyRelu",
                                                             "PRelu",
                                                             "Sigmoid",
                                                             "HardSigmoid",
                                                             "HardSwish",
                                                             "Tanh",
                                                             "Erf",
                                                             "Gelu",
                                                             "Elu",
                                                             "Clip",
                                                             "Selu",
                                                             "Softplus",
                                                             "Softmax",
                                                             "LogSoftmax",
                                                             "LayerNormalization",
                                                             "InstanceNormalization",
                                                             "GroupNormalization",
                                                             "BatchNormalization",
                                                             "GlobalAveragePool",
                                                             "GlobalMaxPool",
                                                             "Exp",
                                                             "Log",
                                                             "Sqrt",
                                                             "Reciprocal",
                                                             "LSTM",
                                                             "GRU",
                                                             "RNN"};
  static const std::set<std::string, std::less<>> kBinary = {"Add", "Sub", "Mul", "Div"};
  if (!node.domain.empty()) return false;
  if (kAlways.count(node.op_type) > 0) return true;
  // With a constant operand (x + 0, x * 1) the optimizer may drop the node and hand its input on.
  return kBinary.count(node.op_type) > 0 && !graph.tensor(node.inputs[0]).is_static &&
         !graph.tensor(node.inputs[1]).is_static && node.inputs[0] != node.inputs[1];
}

std::string key_of(const Network& network, const SimulatedPart& part) {
  std::string key = part.observes ? kObserveKey : "";
  key += std::to_string(part.span.begin) + ":" + std::to_string(part.span.end) + "/" +
         std::to_string(part.threads) + "/";
  // A built-in value depends on its encoding; a node gets its encoding with each run.
  for (const int s : part.constants)
    key += std::to_string(s) + "@" + std::to_string(network.quantizer(s)->version()) + ",";
  for (const int s : part.nodes) key += std::to_string(s) + ",";
  key += "/";
  for (const TensorId t : part.outputs) key += std::to_string(t) + ",";
  return key + std::to_string(static_cast<int>(part.optimization));
}

std::vector<TensorId> inputs_of(const NodeOrder& order, const SimulatedPart& part) {
  const std::vector<TensorId> read = order.inputs_of(part.span.begin, part.span.end);
  std::set<TensorId> inputs(read.begin(), read.end());
  for (const TensorId t : part.outputs) {
    if (order.is_dynamic(t) && order.produced_at(t) < part.span.begin) inputs.insert(t);
  }
  return {inputs.begin(), inputs.end()};
}

bool fixes_every_input(const Model& model) {
  const std::vector<ValueInfo> inputs = model.inputs();
  return std::all_of(inputs.begin(), inputs.end(), [](const ValueInfo& input) {
    return input.has_shape && std::all_of(input.shape.begin(), input.shape.end(),
                                          [](const Dimension& d) { return d.size >= 0; });
  });
}

/// Whether one run shows the shapes of all.
bool has_fixed_shapes(const graph::Graph& graph) {
  // Their outputs are as long as what they find.
  static const std::set<std::string, std::less<>> kFinding = {"Compress", "NonMaxSuppression",
                                                              "NonZero", "Unique"};
  return fixes_every_input(graph.model()) &&
         std::ranges::none_of(graph.nodes(), [](const graph::Node& node) {
           return kFinding.count(node.op_type) > 0;
         });
}

}  // namespace

std::vector<Tensor> PartSession::run(const TensorValues& values, const RunState& state) const {
  std::vector<Tensor> feeds;
  feeds.reserve(inputs.size());
  for (const TensorId t : inputs) feeds.push_back(values.at(t));
  return session->run(feeds, takes_state ? &state : nullptr);
}

SimulatedPart simulated_part(const Network& network, Span span, const State& state) {
  SimulatedPart part{.span = span};
  for (const int s : state) (network.is_static(s) ? part.constants : part.nodes).push_back(s);
  return part;
}

PartSessions::PartSessions(const Network& network)
    : network_(network), static_shapes_(has_fixed_shapes(network.graph())) {}

void PartSessions::set_pack_weights(bool pack) {
  if (pack != pack_weights_) sessions_.erase_beginning_with("");  // all
  pack_weights_ = pack;
}

std::size_t PartSessions::freed_bytes_may_stay() const {
  constexpr std::size_t kShareOfLimit = 32;
  return sessions_.capacity() / kShareOfLimit;
}

void PartSessions::drop_observing() {
  sessions_.erase_beginning_with(kObserveKey);
  give_back_freed_memory(0, 0);  // with what was freed before
}

SessionOptions PartSessions::session_options(int threads) const {
  SessionOptions o = network_.session_options(threads);
  o.pack_weights = pack_weights_;
  o.freed_bytes_may_stay = freed_bytes_may_stay();
  return o;
}

bool PartSessions::may_overwrite(TensorId t, Span span) const {
  const int producer = network_.graph().tensor(t).producer;
  if (producer < 0 || network_.order().produced_at(t) < span.begin) return false;
  return writes_own_buffer(network_.graph(), network_.graph().node(producer));
}

SessionRecipe PartSessions::recipe(const SimulatedPart& part,
                                   const std::vector<TensorId>& inputs) const {
  const graph::Graph& graph = network_.graph();
  const std::vector<int>& nodes = network_.order().nodes();
  SessionRecipe recipe;
  graph::SubgraphSpec spec;
  spec.nodes.assign(nodes.begin() + part.span.begin, nodes.begin() + part.span.end);
  spec.inputs = inputs;
  spec.outputs = part.outputs;
  spec.static_shapes = static_shapes_ && part.span.begin > 0;
  for (const int s : part.constants) {
    const TensorId t = network_.site(s).tensor;
    spec.replaced[t] = network_.quantizer(s)->fake_quant(graph.static_value(t));
    recipe.weight_grids.push_back(network_.quantizer(s)->plan());
  }
  for (const int s : part.nodes) {
    const TensorId t = network_.site(s).tensor;
    // What observes may always hand its input on.
    const bool observes = part.observes && !network_.is_static(s);
    spec.quantizers.push_back({t, s, observes || may_overwrite(t, part.span)});
    spec.state_input = true;
  }
  SessionOptions& o = recipe.options;
  o = session_options(part.threads);
  for (const auto& [t, value] : spec.replaced) o.own_weight_bytes += value.size_bytes();
  o.optimization = part.optimization;
  if (o.optimization == Optimization::kFull) {
    spec.blocked = inputs_to_block(graph, spec.inputs, spec.nodes);
    spec.fuse_elementwise = true;
  }
  recipe.piece = graph::build_subgraph(graph, spec);
  return recipe;
}

PartSession PartSessions::simulated(SimulatedPart part) {
  const auto is_outside = [&](int site) { return !acts_in(network_, site, part.span); };
  std::erase_if(part.constants, is_outside);
  std::erase_if(part.nodes, is_outside);
  PartSession result;
  result.inputs = inputs_of(network_.order(), part);
  result.session =
      sessions_.get(key_of(network_, part), [&] { return recipe(part, result.inputs); });
  result.takes_state = !part.nodes.empty();
  result.outputs = std::move(part.outputs);
  return result;
}

PartSession PartSessions::suffix(const Suffix& suffix, int threads, Optimization optimization) {
  std::string key = "suffix " + std::to_string(suffix.begin) + "/" + std::to_string(threads) + "/" +
                    std::to_string(static_cast<int>(optimization));
  for (const TensorId t : suffix.changed) key += "," + std::to_string(t);
  PartSession result{.inputs = suffix.inputs, .outputs = suffix.outputs};
  result.session = sessions_.get(key, [&] {
    const graph::Graph& graph = network_.graph();
    graph::SubgraphSpec spec;
    spec.nodes = suffix.nodes;
    spec.inputs = suffix.inputs;
    spec.outputs = suffix.outputs;
    spec.static_shapes = static_shapes_;
    if (optimization == Optimization::kFull)
      spec.blocked = inputs_to_block(graph, spec.inputs, spec.nodes);
    SessionRecipe recipe{.piece = graph::build_subgraph(graph, spec),
                         .options = session_options(threads),
                         .weight_grids = {}};
    recipe.options.optimization = optimization;
    return recipe;
  });
  return result;
}

}  // namespace bitsweep::simulate
