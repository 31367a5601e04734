#include "simulate/engine.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "base/usable_cpus.h"
#include "bitsweep/error.h"
#include "graph/subgraph.h"
#include "simulate/blocked_layout.h"
#include "simulate/ort_library.h"
#include "simulate/packed_weights.h"
#include "simulate/quantizer_factory.h"
#include "simulate/unknown_operator.h"

namespace bitsweep::simulate {

using graph::TensorId;

namespace {

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

}  // namespace

Engine::Engine(Model model, SimulationOptions options)
    : options_(std::move(options)),
      num_threads_(options_.num_threads > 0 ? options_.num_threads : usable_cpus()),
      graph_(std::move(model)),
      order_(graph_),
      packed_weights_(std::make_shared<PackedWeights>()) {
  for (const std::string& provider : options_.providers) {
    if (provider != "CPUExecutionProvider") {
      throw Error(ErrorCode::kInvalidArgument, "simulate",
                  "provider \"" + provider + "\" is not supported",
                  "use CPUExecutionProvider, the only one of this version");
    }
  }
  const std::vector<ValueInfo> inputs = graph_.model().inputs();
  static_shapes_ = std::all_of(inputs.begin(), inputs.end(), [](const ValueInfo& input) {
    return input.has_shape && std::all_of(input.shape.begin(), input.shape.end(),
                                          [](const Dimension& d) { return d.size >= 0; });
  });
  infer_types();
  placement_ = graph::place_quantizers(graph_, {.rules = options_.rules,
                                                .parameter_format = options_.parameter_format,
                                                .activation_format = options_.activation_format});
  quantizers_ = make_quantizers(graph_, placement_, options_.scheme);
}

void Engine::set_quantizer(int site, std::shared_ptr<Quantizer> quantizer) {
  quantizers_[static_cast<std::size_t>(site)] = std::move(quantizer);
}

SessionOptions Engine::session_options(int threads) const {
  SessionOptions o;
  o.num_threads = threads;
  o.pool_threads = num_threads_;
  o.packed_weights = packed_weights_;
  o.pack_weights = pack_weights_;
  o.ort_library = options_.ort_library;
  o.custom_op_libraries = options_.custom_op_libraries;
  return o;
}

// The whole graph, dead nodes included, with each computed tensor as an output.
graph::SubgraphSpec Engine::every_tensor() const {
  graph::SubgraphSpec spec;
  spec.inputs = graph_.inputs();
  for (int n = 0; n < static_cast<int>(graph_.nodes().size()); ++n) {
    if (!graph_.node(n).is_constant) spec.nodes.push_back(n);
  }
  for (TensorId t = 0; t < static_cast<TensorId>(graph_.tensors().size()); ++t) {
    if (graph_.tensor(t).producer >= 0 && !graph_.tensor(t).is_static) spec.outputs.push_back(t);
  }
  return spec;
}

// Element types and what is known of shapes come from the runtime itself: it knows every operator
// that it can run.
void Engine::infer_types() {
  const graph::SubgraphSpec spec = every_tensor();
  if (spec.outputs.empty()) return;
  SessionOptions o = session_options(1);
  o.optimization = Optimization::kNone;
  std::unique_ptr<const Session> session;
  try {
    session = std::make_unique<const Session>(graph::build_subgraph(graph_, spec), o);
  } catch (const Error& refusal) {
    explain_unknown_operator(graph_, refusal);
    throw;
  }
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    graph_.set_type(spec.outputs[i], session->output_type(i));
    if (auto shape = session->output_shape(i))
      graph_.set_inferred_shape(spec.outputs[i], std::move(*shape));
  }
}

const std::string& Engine::reason(int site) const {
  const auto note = notes_.find(site);
  return note != notes_.end() ? note->second
                              : placement_.sites[static_cast<std::size_t>(site)].reason;
}

State Engine::enabled_state() const {
  State state;
  for (int s = 0; s < static_cast<int>(quantizers_.size()); ++s) {
    if (quantizer(s)->enabled()) state.push_back(s);
  }
  return state;
}

State Engine::sites_of(const std::vector<const Quantizer*>& quantizers) const {
  const std::set<const Quantizer*> wanted(quantizers.begin(), quantizers.end());
  State state;
  for (int s = 0; s < static_cast<int>(quantizers_.size()); ++s) {
    if (wanted.count(quantizer(s).get()) > 0) state.push_back(s);
  }
  return state;
}

void Engine::check_ready(const State& state) const {
  for (const int s : state) {
    if (quantizer(s)->initialized()) continue;
    throw Error(ErrorCode::kNotReady, "simulate",
                "the quantizer of \"" +
                    graph_.tensor(placement_.sites[static_cast<std::size_t>(s)].tensor).name +
                    "\" is enabled but has no encoding",
                "calibrate first (compute_encodings), or disable it");
  }
}

bool Engine::is_static_site(int site) const {
  return graph_.tensor(placement_.sites[static_cast<std::size_t>(site)].tensor).is_static;
}

std::optional<int> Change::taken_at(const Cuts& cuts) const {
  const auto behind = std::upper_bound(cuts.begin(), cuts.end(), read);
  if (behind == cuts.begin() || *(behind - 1) <= made) return std::nullopt;
  return *(behind - 1);
}

// A site acts where its tensor is made; behind the first cut that a graph input is read; in every
// reader of a constant.
std::optional<Change> Engine::change_of(const State& state) const {
  std::optional<Change> change;
  const auto extend = [&](const Change& site) {
    if (!change) {
      change = site;
      return;
    }
    change->first = std::min(change->first, site.first);
    change->last = std::max(change->last, site.last);
    change->made = std::max(change->made, site.made);
    change->read = std::min(change->read, site.read);
  };
  for (const int s : state) {
    const TensorId t = placement_.sites[static_cast<std::size_t>(s)].tensor;
    const bool is_read = order_.first_read(t) >= 0;
    if (!is_read && !graph_.tensor(t).is_output) continue;  // dead
    const int read = is_read ? order_.first_read(t) : order_.size() - 1;
    const int made = order_.produced_at(t);
    if (made >= 0) {
      extend({.first = made, .last = made, .made = made, .read = read});
    } else if (order_.is_dynamic(t)) {
      const int first = is_read ? read : 0;
      extend({.first = first, .last = first, .made = 0, .read = read});
    } else if (is_read) {
      extend({.first = read, .last = order_.last_read(t), .made = order_.size(), .read = read});
    }
  }
  return change;
}

double Engine::cost(int begin, int end) const {
  if (cost_before_.empty())
    return order_.size() == 0 ? 0.0 : static_cast<double>(end - begin) / order_.size();
  return cost_before_[static_cast<std::size_t>(end)] -
         cost_before_[static_cast<std::size_t>(begin)];
}

Engine::Span Engine::span_of(const State& state, int* last_cut) const {
  const std::optional<Change> change = change_of(state);
  if (const std::optional<int> cut = change ? change->taken_at(cuts_) : std::nullopt) {
    *last_cut = static_cast<int>(std::find(cuts_.begin(), cuts_.end(), *cut) - cuts_.begin());
    return {*cut, *cut};
  }
  const int num_cuts = static_cast<int>(cuts_.size());
  const int first = change ? change->first : order_.size();
  const int last = change ? change->last : order_.size();
  // The last cut at or before the first change, the first cut behind the last change.
  const auto from = std::upper_bound(cuts_.begin(), cuts_.end(), first);
  const auto to = std::upper_bound(cuts_.begin(), cuts_.end(), last);
  *last_cut = to == cuts_.end() ? num_cuts : static_cast<int>(to - cuts_.begin());
  return {from == cuts_.begin() ? 0 : *(from - 1), to == cuts_.end() ? order_.size() : *to};
}

// Whether the site's node belongs into this span.
bool Engine::quantizes_in(int site, Span span) const {
  const TensorId t = placement_.sites[static_cast<std::size_t>(site)].tensor;
  if (order_.produced_at(t) >= 0)
    return order_.produced_at(t) >= span.begin && order_.produced_at(t) < span.end;
  if (order_.is_dynamic(t)) {
    const int first = std::max(0, order_.first_read(t));
    return first >= span.begin && (first < span.end || order_.size() == 0);
  }
  return order_.first_read(t) < span.end && order_.last_read(t) >= span.begin;
}

bool Engine::may_overwrite(TensorId t, Span span) const {
  const int producer = graph_.tensor(t).producer;
  if (producer < 0 || order_.produced_at(t) < span.begin) return false;
  return writes_own_buffer(graph_, graph_.node(producer));
}

std::string Engine::span_key(Span span, const State& state, const std::vector<TensorId>& outputs,
                             int threads) const {
  std::string key = std::to_string(span.begin) + ":" + std::to_string(span.end) + "/" +
                    std::to_string(threads) + "/";
  for (const int s : state) {
    key += std::to_string(s);
    // A baked weight depends on its encoding; a node gets its encoding with each run.
    if (is_static_site(s)) key += "@" + std::to_string(quantizer(s)->version());
    key += ",";
  }
  key += "/";
  for (const TensorId t : outputs) key += std::to_string(t) + ",";
  return key;
}

Engine::PartSession Engine::span_session(Span span, const State& state,
                                         const std::vector<TensorId>& outputs, int threads,
                                         Optimization optimization, Purpose purpose) {
  PartSession result;
  State inside;
  for (const int s : state) {
    if (quantizes_in(s, span)) inside.push_back(s);
  }
  std::set<TensorId> inputs;
  for (const TensorId t : order_.inputs_of(span.begin, span.end)) inputs.insert(t);
  for (const TensorId t : outputs) {
    if (order_.is_dynamic(t) && order_.produced_at(t) < span.begin) inputs.insert(t);
  }
  result.inputs.assign(inputs.begin(), inputs.end());
  result.outputs = outputs;
  result.session = sessions_.get(
      (purpose == Purpose::kEvaluate ? "" : kObserveKey) +
          span_key(span, inside, outputs, threads) + std::to_string(static_cast<int>(optimization)),
      [&] {
        SessionRecipe recipe;
        graph::SubgraphSpec spec;
        spec.nodes.assign(order_.nodes().begin() + span.begin, order_.nodes().begin() + span.end);
        spec.inputs = result.inputs;
        spec.outputs = outputs;
        spec.static_shapes = static_shapes_ && span.begin > 0;
        for (const int s : inside) {
          const TensorId t = placement_.sites[static_cast<std::size_t>(s)].tensor;
          const bool observed = purpose != Purpose::kEvaluate && observed_in_every_run(s);
          if (is_static_site(s) && !observed && purpose != Purpose::kObserveWithoutCopies) {
            spec.replaced[t] = quantizer(s)->fake_quant(graph_.static_value(t));
            recipe.weight_grids.push_back(quantizer(s)->plan());
          } else {
            // What observes changes nothing, so that it may always hand its input on.
            const bool observes = purpose != Purpose::kEvaluate && !is_static_site(s);
            spec.quantizers.push_back({t, s, observes || may_overwrite(t, span)});
            spec.state_input = true;
          }
        }
        SessionOptions& o = recipe.options;
        o = session_options(threads);
        for (const auto& [t, value] : spec.replaced) o.own_weight_bytes += value.size_bytes();
        o.optimization = optimization;
        if (o.optimization == Optimization::kFull) {
          spec.blocked = inputs_to_block(graph_, spec.inputs, spec.nodes);
          spec.fuse_elementwise = true;
        }
        recipe.piece = graph::build_subgraph(graph_, spec);
        return recipe;
      });
  return result;
}

Engine::PartSession Engine::suffix_session(const Suffix& suffix) {
  PartSession result;
  result.inputs = suffix.inputs;
  result.outputs = suffix.outputs;
  std::string key =
      "suffix " + std::to_string(suffix.begin) + "/" + std::to_string(threads_per_run_);
  for (const TensorId t : suffix.changed) key += "," + std::to_string(t);
  result.session = sessions_.get(key, [&] {
    graph::SubgraphSpec spec;
    spec.nodes = suffix.nodes;
    spec.inputs = suffix.inputs;
    spec.outputs = suffix.outputs;
    spec.static_shapes = static_shapes_;
    spec.blocked = inputs_to_block(graph_, spec.inputs, spec.nodes);
    return SessionRecipe{.piece = graph::build_subgraph(graph_, spec),
                         .options = session_options(threads_per_run_),
                         .weight_grids = {}};
  });
  return result;
}

std::vector<Tensor> Engine::run_part(const PartSession& session,
                                     const std::map<TensorId, Tensor>& values,
                                     const RunState* state) {
  std::vector<Tensor> inputs;
  inputs.reserve(session.inputs.size());
  for (const TensorId t : session.inputs) inputs.push_back(values.at(t));
  return session.session->run(inputs, state);
}

RunState Engine::run_state(const State& state) const {
  RunState run;
  run.sites.resize(quantizers_.size());
  for (const int s : state) {
    if (is_static_site(s)) continue;
    SiteAction& action = run.sites[static_cast<std::size_t>(s)];
    action.mode = SiteAction::Mode::kQuantize;
    action.plan = quantizer(s)->plan();
  }
  return run;
}

std::map<TensorId, Tensor> Engine::feed_values(const Feed& feed) const {
  std::map<TensorId, Tensor> values;
  for (const TensorId t : graph_.inputs()) {
    const auto it = feed.find(graph_.tensor(t).name);
    if (it != feed.end()) values.emplace(t, it->second);
  }
  return values;
}

std::vector<TensorId> Engine::distinct_outputs() const {
  std::vector<TensorId> outputs;
  for (const TensorId t : graph_.outputs()) {
    if (std::find(outputs.begin(), outputs.end(), t) == outputs.end()) outputs.push_back(t);
  }
  return outputs;
}

std::vector<Tensor> Engine::in_output_order(const std::map<TensorId, Tensor>& values,
                                            const std::vector<Tensor>& fallback) const {
  std::vector<Tensor> outputs;
  outputs.reserve(graph_.outputs().size());
  for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
    const auto it = values.find(graph_.outputs()[i]);
    outputs.push_back(it != values.end() ? it->second : fallback[i]);
  }
  return outputs;
}

void Engine::count(double cost) { count_again(1, cost); }

void Engine::count_again(std::int64_t runs, double cost) {
  num_runs_.fetch_add(runs);
  double before = cost_run_.load();
  while (!cost_run_.compare_exchange_weak(before, before + cost)) {
  }
}

void Engine::reset_counters() {
  num_runs_ = 0;
  cost_run_ = 0.0;
}

double Engine::forward_equivalents() const { return cost_run_.load(); }

}  // namespace bitsweep::simulate
