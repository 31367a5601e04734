// The part of Engine that observes: shapes first, then the ranges of activations.
#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/macs.h"
#include "graph/mapped_file.h"
#include "graph/subgraph.h"
#include "simulate/engine.h"

namespace bitsweep::simulate {

using graph::TensorId;

// Constants were observed before, from their value.
bool Engine::observes_activation(int site) const {
  return !is_static_site(site) && quantizer(site)->format().needs_encoding();
}

bool Engine::is_stored_parameter(int site) const {
  return is_static_site(site) &&
         placement_.sites[static_cast<std::size_t>(site)].role == graph::TensorRole::kParameter;
}

bool Engine::observed_in_every_run(int site) const {
  const Quantizer& q = *quantizer(site);
  const bool batches_weigh_the_same =
      (q.scheme() == Scheme::kTfEnhanced || q.scheme() == Scheme::kPercentile) &&
      q.histogram_support() == HistogramSupport::kFirstBatch;
  if (!batches_weigh_the_same || !is_static_site(site) || is_stored_parameter(site) || q.frozen() ||
      !q.format().needs_encoding())
    return false;
  const State tied = sites_of({&q});
  return std::any_of(tied.begin(), tied.end(), [&](int s) { return observes_activation(s); });
}

bool Engine::observes(int site) const {
  return observes_activation(site) || observed_in_every_run(site);
}

// Quantized copies of all weights would double the memory of a large model.
Engine::Purpose Engine::purpose_of_observing(const State& state) const {
  std::size_t bytes = 0;
  for (const int s : state) {
    if (is_stored_parameter(s)) bytes += value_of_site(s).size_bytes();
  }
  return bytes > options_.calibration_copies_bytes ? Purpose::kObserveWithoutCopies
                                                   : Purpose::kObserve;
}

int Engine::num_observers() const {
  State parameters;
  std::size_t largest = 1;
  for (const int s : enabled_state()) {
    if (!is_stored_parameter(s)) continue;
    parameters.push_back(s);
    largest = std::max(largest, value_of_site(s).size_bytes());
  }
  if (purpose_of_observing(parameters) == Purpose::kObserve) return num_threads_;
  const std::size_t fit = options_.calibration_copies_bytes / largest;
  return static_cast<int>(std::clamp<std::size_t>(fit, 1, static_cast<std::size_t>(num_threads_)));
}

Tensor Engine::value_of_site(int site) const {
  return graph_.static_value(placement_.sites[static_cast<std::size_t>(site)].tensor);
}

void Engine::end_observation() { sessions_.erase_beginning_with(kObserveKey); }

std::map<const Quantizer*, int> Engine::observed_sites() const {
  std::map<const Quantizer*, int> sites;
  for (const int s : enabled_state()) {
    if (observes(s)) ++sites[quantizer(s).get()];
  }
  return sites;
}

std::vector<Tensor> Engine::observe(const Feed& feed, DivisorWatch* divisors, ObserverOrder* order,
                                    std::int64_t sample) {
  State state;
  for (const int s : enabled_state()) {
    if (observes(s) || is_stored_parameter(s)) state.push_back(s);
  }
  const Span whole{0, order_.size()};
  const std::vector<TensorId> outputs = distinct_outputs();
  const Purpose purpose = purpose_of_observing(state);
  // Operators one by one: then ranges are those of the reference to the last bit, and so are the
  // outputs of deep networks, in which a range that differs in its last bit lets many values round
  // to the next step. Where the reference's histogram begins at zero, the largest value lies
  // exactly on the edge of a bucket, and would move the range by one. On one thread, since some
  // reductions split their sums by threads. Weights need no copy either.
  const PartSession session = span_session(whole, state, outputs, 1, Optimization::kNone, purpose);
  RunState run;
  run.sites.resize(quantizers_.size());
  run.divisors = divisors;
  run.order = order;
  run.sample = sample;
  bool has_nodes = false;
  for (const int s : state) {
    SiteAction& action = run.sites[static_cast<std::size_t>(s)];
    if (observes(s)) {
      action.mode = SiteAction::Mode::kObserve;
      action.observer = quantizer(s).get();
    } else if (purpose == Purpose::kObserveWithoutCopies) {
      action.mode = SiteAction::Mode::kQuantize;
      action.plan = quantizer(s)->plan();
      action.input_is_stored = true;
    } else {
      continue;
    }
    has_nodes = has_nodes || quantizes_in(s, whole);
  }
  const std::vector<Tensor> results =
      run_part(session, feed_values(feed), has_nodes ? &run : nullptr);
  std::map<TensorId, Tensor> values;
  for (std::size_t i = 0; i < outputs.size(); ++i) values.emplace(outputs[i], results[i]);
  return in_output_order(values, results);
}

// What the runtime infers from the shapes of the feed needs no run. Gives the tensors that do.
std::vector<TensorId> Engine::infer_shapes(const graph::SubgraphSpec& spec) {
  SessionOptions o = session_options(num_threads_);
  o.optimization = Optimization::kNone;
  const Session session(graph::build_subgraph(graph_, spec), o);
  std::vector<TensorId> unknown;
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    Shape shape;
    const std::optional<std::vector<Dimension>> inferred = session.output_shape(i);
    if (inferred) {
      for (const Dimension& dimension : *inferred) shape.push_back(dimension.size);
    }
    const bool is_known = inferred && std::all_of(shape.begin(), shape.end(),
                                                  [](std::int64_t size) { return size >= 0; });
    if (is_known) {
      graph_.set_shape(spec.outputs[i], std::move(shape));
    } else {
      unknown.push_back(spec.outputs[i]);
    }
  }
  return unknown;
}

// Shapes only: with the tensors as outputs, the run would hold them all, and the arena for good.
void Engine::run_for_shapes(graph::SubgraphSpec spec, const std::vector<TensorId>& tensors,
                            const std::map<TensorId, Tensor>& values) {
  spec.outputs.clear();
  spec.shapes_of = tensors;
  SessionOptions o = session_options(num_threads_);
  o.optimization = Optimization::kNone;
  const Session session(graph::build_subgraph(graph_, spec), o);
  std::vector<Tensor> inputs;
  for (const TensorId t : spec.inputs) inputs.push_back(values.at(t));
  const std::vector<Tensor> shapes = session.run(inputs);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto* begin = static_cast<const std::int64_t*>(shapes[i].data());
    graph_.set_shape(tensors[i], Shape(begin, begin + shapes[i].size()));
  }
}

void Engine::keep_for_shapes(const Feed& feed) {
  const std::lock_guard lock(shapes_mutex_);
  if (shapes_known_ || !shapes_sample_.empty()) return;
  for (const auto& [name, value] : feed) {
    Tensor& kept = shapes_sample_[name];
    kept = value;
    if (value.size_bytes() == 0) continue;  // an empty sequence, too
    kept = Tensor::allocate(value.type(), value.shape());
    std::memcpy(kept.mutable_data(), value.data(), value.size_bytes());
  }
}

bool Engine::find_shapes() {
  const std::lock_guard lock(shapes_mutex_);
  const Feed sample = std::exchange(shapes_sample_, {});
  if (!shapes_known_ && !sample.empty()) observe_shapes(sample);
  return shapes_known_;
}

void Engine::observe_shapes(const Feed& feed) {
  graph::SubgraphSpec spec = every_tensor();
  // Sequences and strings have no shape to see.
  std::erase_if(spec.outputs, [&](TensorId t) {
    return graph_.tensor(t).type == DataType::kUndefined ||
           graph_.tensor(t).type == DataType::kString;
  });
  const std::map<TensorId, Tensor> values = feed_values(feed);
  for (const auto& [t, value] : values) {
    if (graph_.tensor(t).type != DataType::kUndefined) graph_.set_shape(t, value.shape());
  }
  if (!spec.outputs.empty()) {
    spec.static_shapes = true;
    const std::vector<TensorId> unknown = infer_shapes(spec);
    if (!unknown.empty()) run_for_shapes(std::move(spec), unknown, values);
  }
  for (TensorId t = 0; t < static_cast<TensorId>(graph_.tensors().size()); ++t)
    graph::give_back_pages(graph_.static_value(t));
  cost_before_.assign(1, 0.0);
  for (const int node : order_.nodes())
    cost_before_.push_back(cost_before_.back() + graph::cost_of(graph_, node));
  const double total = cost_before_.back();
  float_pass_ns_ = total;
  if (total > 0.0) {
    for (double& c : cost_before_) c /= total;
  } else {
    cost_before_.clear();
  }
  shapes_known_ = true;
}

}  // namespace bitsweep::simulate
