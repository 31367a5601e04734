#include "simulate/reuse/evaluator.h"

#include <algorithm>
#include <utility>

#include "bitsweep/error.h"

namespace bitsweep::simulate {

using graph::TensorId;

namespace {

void require_tensor(bool is_tensor, const graph::TensorInfo& info) {
  if (is_tensor) return;
  throw Error(ErrorCode::kInvalidModel, "simulate",
              "\"" + info.name +
                  "\" is a sequence or an optional value, and changes of the outputs " +
                  "are compared between tensors only",
              "cut the operators that read or make it off the model");
}

}  // namespace

std::int64_t Sample::size_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [t, value] : values_) bytes += static_cast<std::int64_t>(value.size_bytes());
  for (const Tensor& output : outputs_) bytes += static_cast<std::int64_t>(output.size_bytes());
  return bytes;
}

Evaluator::Evaluator(const Network& network, const Shapes& shapes, PartSessions& sessions,
                     WorkCounter& work)
    : network_(network),
      shapes_(shapes),
      sessions_(sessions),
      work_(work),
      split_(network, shapes, {}) {}

void Evaluator::set_plan(const EvaluationPlan& plan) {
  threads_per_run_ = plan.threads_per_run;
  optimization_ = network_.options().portable_runs && shapes_.is_small_model()
                      ? Optimization::kPortable
                      : Optimization::kFull;
  open_samples_ = plan.open_samples;
  sessions_.set_pack_weights(plan.pack_weights);
  if (plan.session_bytes > 0) sessions_.set_memory_limit(plan.session_bytes);
  split_ = SplitNetwork(network_, shapes_, plan);
  repeated_.reset(plan.repeated_bits);
}

std::shared_ptr<Sample> Evaluator::open_sample(const Feed& feed) {
  const graph::Graph& graph = network_.graph();
  const NodeOrder& order = network_.order();
  for (const TensorId t : graph.inputs())
    require_tensor(graph.tensor(t).type != DataType::kUndefined, graph.tensor(t));
  auto sample = std::make_shared<Sample>();
  sample->values_ = values_of(graph, feed);
  sample->shapes_ = shapes_text(feed);
  std::vector<TensorId> wanted = distinct_outputs(graph);
  const std::size_t num_outputs = wanted.size();
  for (const TensorId t : split_.kept_tensors()) {
    const bool is_input = order.produced_at(t) < 0;
    if (!is_input && std::find(wanted.begin(), wanted.end(), t) == wanted.end())
      wanted.push_back(t);
  }
  const PartSession session = sessions_.simulated({.span = {0, order.size()},
                                                   .outputs = std::move(wanted),
                                                   .threads = threads_per_run_,
                                                   .optimization = optimization_});
  const std::vector<Tensor> results = session.run(sample->values_);
  work_.add(1.0);
  TensorValues outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorId t = session.outputs[i];
    require_tensor(results[i].defined(), graph.tensor(t));
    if (i < num_outputs) outputs.emplace(t, results[i]);
    if (order.produced_at(t) >= 0) sample->values_.emplace(t, results[i]);
  }
  sample->outputs_ = in_output_order(graph, outputs, results);
  for (int i = 0; i < split_.num_suffixes(); ++i)
    sample->references_.push_back(std::make_unique<Sample::Reference>());
  return sample;
}

std::vector<Tensor> Evaluator::finish(int suffix, const TensorValues& boundary,
                                      const Sample& sample) {
  TensorValues values = boundary;  // holds the outputs made in front of the cut
  if (suffix < split_.num_suffixes() && !split_.suffix(suffix).outputs.empty()) {
    const PartSession session =
        sessions_.suffix(split_.suffix(suffix), threads_per_run_, optimization_);
    for (const TensorId t : session.inputs) values.emplace(t, sample.values_.at(t));
    const std::vector<Tensor> results = session.run(values);
    work_.add(split_.suffix(suffix).cost);
    for (std::size_t i = 0; i < results.size(); ++i)
      values.insert_or_assign(session.outputs[i], results[i]);
  }
  return in_output_order(network_.graph(), values, sample.outputs_);
}

void Evaluator::prepare_reference(Sample& sample, int suffix) {
  if (suffix >= split_.num_suffixes()) return;
  Sample::Reference& reference = *sample.references_[static_cast<std::size_t>(suffix)];
  std::call_once(reference.once, [&] {
    if (shortcuts_ && repeated_.repeats(suffix, sample.shapes_)) {
      reference.is_float_pass = true;
      return;
    }
    std::vector<Tensor> outputs = finish(suffix, {}, sample);
    const auto same_bits = [](const Tensor& a, const Tensor& b) { return a.equal_bits(b); };
    if (!shortcuts_ || !std::equal(outputs.begin(), outputs.end(), sample.outputs_.begin(),
                                   sample.outputs_.end(), same_bits)) {
      reference.outputs = std::move(outputs);
      return;
    }
    reference.is_float_pass = true;
    repeated_.add(suffix, sample.shapes_, outputs, sample.outputs_);
  });
}

bool Evaluator::repeats_float_pass(Sample& sample, int suffix) {
  prepare_reference(sample, suffix);
  return sample.references_[static_cast<std::size_t>(suffix)]->is_float_pass;
}

// Of a state that changes nothing but tensors that a cut takes.
Evaluator::Boundary Evaluator::quantize_boundary(const State& state, const Sample& sample) const {
  Boundary boundary;
  for (const int s : state) {
    const TensorId t = network_.site(s).tensor;
    const auto value = sample.values_.find(t);
    if (value == sample.values_.end()) continue;  // dead
    Tensor quantized = network_.quantizer(s)->fake_quant(value->second);
    boundary.changed = boundary.changed || !quantized.equal_bits(value->second);
    boundary.values.emplace(t, std::move(quantized));
  }
  return boundary;
}

Evaluator::Boundary Evaluator::run_span(const State& state, Span span, const Sample& sample) {
  std::vector<TensorId> wanted =
      made_in(network_, state, span, changed_at(network_, state, span.end));
  Boundary boundary;
  if (wanted.empty()) return boundary;
  SimulatedPart part = simulated_part(network_, span, state);
  part.outputs = std::move(wanted);
  part.threads = threads_per_run_;
  part.optimization = optimization_;
  const PartSession session = sessions_.simulated(std::move(part));
  const std::vector<Tensor> results = session.run(sample.values_, network_.run_state(state));
  work_.add(shapes_.cost(span.begin, span.end));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorId t = session.outputs[i];
    const auto it = sample.values_.find(t);
    boundary.changed =
        boundary.changed || it == sample.values_.end() || !it->second.equal_bits(results[i]);
    boundary.values.emplace(t, results[i]);
  }
  return boundary;
}

Evaluator::Boundary Evaluator::boundary_of(const State& state, Span span, const Sample& sample) {
  return span.empty() ? quantize_boundary(state, sample) : run_span(state, span, sample);
}

std::vector<Tensor> Evaluator::evaluate_outputs(const State& state, const Sample& sample) {
  const std::optional<Change> change = change_of(network_, state);
  if (!change) return sample.outputs_;
  const Span span = split_.span_of(*change);
  const Boundary boundary = boundary_of(state, span, sample);
  if (shortcuts_ && !boundary.changed) return sample.outputs_;
  return finish(split_.suffix_behind(state, span), boundary.values, sample);
}

Evaluation Evaluator::evaluate(const State& state, Sample& sample) {
  Evaluation result{.outputs = {}, .reference = &sample.outputs_};
  const std::optional<Change> change = change_of(network_, state);
  if (!change) {
    result.outputs = sample.outputs_;
    return result;
  }
  const Span span = split_.span_of(*change);
  const Boundary boundary = boundary_of(state, span, sample);
  const int suffix = split_.suffix_behind(state, span);
  if (suffix < split_.num_suffixes()) {
    prepare_reference(sample, suffix);
    const Sample::Reference& reference = *sample.references_[static_cast<std::size_t>(suffix)];
    if (!reference.is_float_pass) result.reference = &reference.outputs;
  }
  // Behind an unchanged boundary the suffix gives what it gave for the float pass.
  result.outputs =
      shortcuts_ && !boundary.changed ? *result.reference : finish(suffix, boundary.values, sample);
  return result;
}

}  // namespace bitsweep::simulate
