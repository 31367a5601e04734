// The part of Engine that evaluates states on samples: plan, float pass, spans and suffixes.
#include <algorithm>
#include <set>
#include <utility>

#include "bitsweep/error.h"
#include "simulate/engine.h"

namespace bitsweep::simulate {

using graph::TensorId;

std::int64_t Sample::size_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [t, value] : values_) bytes += static_cast<std::int64_t>(value.size_bytes());
  for (const Tensor& output : outputs_) bytes += static_cast<std::int64_t>(output.size_bytes());
  return bytes;
}

Suffix Engine::make_suffix(int cut_position, const std::vector<TensorId>& changed) const {
  Suffix suffix{.begin = cut_position, .changed = changed};
  const std::vector<char> affected =
      changed.empty() ? std::vector<char>(graph_.tensors().size(), 1) : order_.affected_by(changed);
  const auto is_affected = [&](TensorId t) {
    return t != graph::kAbsent && affected[static_cast<std::size_t>(t)] != 0;
  };
  std::set<TensorId> inputs;
  std::set<TensorId> made;
  for (int p = cut_position; p < order_.size(); ++p) {
    const graph::Node& node = graph_.node(order_.nodes()[static_cast<std::size_t>(p)]);
    if (!std::any_of(node.outputs.begin(), node.outputs.end(), is_affected)) continue;
    suffix.nodes.push_back(order_.nodes()[static_cast<std::size_t>(p)]);
    suffix.cost += cost(p, p + 1);
    const auto need = [&](TensorId t) {
      if (t != graph::kAbsent && order_.is_dynamic(t) && made.count(t) == 0) inputs.insert(t);
    };
    std::for_each(node.inputs.begin(), node.inputs.end(), need);
    std::for_each(node.captured.begin(), node.captured.end(), need);
    made.insert(node.outputs.begin(), node.outputs.end());
  }
  suffix.inputs.assign(inputs.begin(), inputs.end());
  for (const TensorId t : distinct_outputs()) {
    if (made.count(t) > 0) suffix.outputs.push_back(t);
  }
  return suffix;
}

void Engine::set_plan(const EnginePlan& plan) {
  cuts_ = plan.cuts;
  threads_per_run_ = plan.threads_per_run;
  if (plan.pack_weights != pack_weights_) sessions_.erase_beginning_with("");  // all
  pack_weights_ = plan.pack_weights;
  open_samples_ = plan.open_samples;
  if (plan.session_bytes > 0) sessions_.set_capacity(plan.session_bytes);
  suffixes_.clear();
  partial_.clear();
  repeated_bits_ = plan.repeated_bits;
  for (const int cut : cuts_) suffixes_.push_back(make_suffix(cut, {}));
  for (const auto& [cut, changed] : plan.partial_suffixes) {
    partial_.emplace(std::pair{cut, changed}, num_suffixes());
    suffixes_.push_back(make_suffix(cuts_[static_cast<std::size_t>(cut)], changed));
  }
  std::set<TensorId> kept;
  for (const int cut : cuts_) {
    for (const TensorId t : order_.live(cut)) kept.insert(t);
  }
  for (const Suffix& suffix : suffixes_) kept.insert(suffix.inputs.begin(), suffix.inputs.end());
  boundary_tensors_.assign(kept.begin(), kept.end());
}

RepeatedBits Engine::repeated_bits() {
  const std::lock_guard lock(exact_mutex_);
  return repeated_bits_;
}

std::vector<TensorId> Engine::changed_behind(const State& state) const {
  int cut = 0;
  const Span span = span_of(state, &cut);
  std::vector<TensorId> sources;
  for (const int s : state) sources.push_back(placement_.sites[static_cast<std::size_t>(s)].tensor);
  const std::vector<char> affected = order_.affected_by(sources);
  std::vector<TensorId> changed = order_.live(span.end);
  std::erase_if(changed, [&](TensorId t) { return affected[static_cast<std::size_t>(t)] == 0; });
  return changed;
}

int Engine::suffix_of(const State& state) const {
  int cut = 0;
  span_of(state, &cut);
  if (cut == static_cast<int>(cuts_.size())) return num_suffixes();
  if (partial_.empty()) return cut;
  const auto partial = partial_.find({cut, changed_behind(state)});
  return partial == partial_.end() ? cut : partial->second;
}

namespace {

// A suffix that computes in another order repeats a value by chance, where few bits are kept often:
// bits of the significand that have to agree before it is believed that all others will, too.
constexpr std::int64_t kEnoughBits = std::int64_t{16} * 24;

int significand_bits(DataType type) {
  if (type == DataType::kFloat) return 24;
  if (type == DataType::kDouble) return 53;
  return type == DataType::kFloat16 || type == DataType::kBfloat16 ? 2 : 0;
}

void require_tensor(bool is_tensor, const graph::TensorInfo& info) {
  if (is_tensor) return;
  throw Error(ErrorCode::kInvalidModel, "simulate",
              "\"" + info.name +
                  "\" is a sequence or an optional value, and changes of the outputs " +
                  "are compared between tensors only",
              "cut the operators that read or make it off the model");
}

}  // namespace

std::int64_t Engine::bits_made(const std::vector<Tensor>& outputs, const Sample& sample) {
  std::int64_t bits = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].data() == sample.outputs_[i].data()) continue;  // not the suffix made it
    bits += outputs[i].size() * significand_bits(outputs[i].type());
  }
  return bits;
}

std::shared_ptr<Sample> Engine::open_sample(const Feed& feed) {
  for (const TensorId t : graph_.inputs())
    require_tensor(graph_.tensor(t).type != DataType::kUndefined, graph_.tensor(t));
  auto sample = std::make_shared<Sample>();
  sample->values_ = feed_values(feed);
  for (const auto& [name, tensor] : feed) sample->shapes_ += shape_text(tensor.shape());
  std::vector<TensorId> wanted = distinct_outputs();
  const std::size_t num_outputs = wanted.size();
  for (const TensorId t : boundary_tensors_) {
    const bool is_input = order_.produced_at(t) < 0;
    if (!is_input && std::find(wanted.begin(), wanted.end(), t) == wanted.end()) {
      wanted.push_back(t);
    }
  }
  const PartSession session =
      span_session({0, order_.size()}, {}, wanted, threads_per_run_, Optimization::kFull);
  const std::vector<Tensor> results = run_part(session, sample->values_, nullptr);
  count(1.0);
  std::map<TensorId, Tensor> outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    require_tensor(results[i].defined(), graph_.tensor(wanted[i]));
    if (i < num_outputs) outputs.emplace(wanted[i], results[i]);
    if (order_.produced_at(wanted[i]) >= 0) sample->values_.emplace(wanted[i], results[i]);
  }
  sample->outputs_ = in_output_order(outputs, results);
  for (std::size_t i = 0; i < suffixes_.size(); ++i) {
    sample->references_.push_back(std::make_unique<Sample::Reference>());
  }
  return sample;
}

// `boundary`: what the state left behind the cut; what it did not touch comes from the float pass.
std::vector<Tensor> Engine::finish(const Suffix& suffix, const std::map<TensorId, Tensor>& boundary,
                                   const Sample& sample) {
  std::map<TensorId, Tensor> values = boundary;  // holds the outputs made in front of the cut
  if (!suffix.outputs.empty()) {
    const PartSession session = suffix_session(suffix);
    for (const TensorId t : session.inputs) values.emplace(t, sample.values_.at(t));
    const std::vector<Tensor> results = run_part(session, values, nullptr);
    count(suffix.cost);
    for (std::size_t i = 0; i < results.size(); ++i) {
      values.insert_or_assign(suffix.outputs[i], results[i]);
    }
  }
  return in_output_order(values, sample.outputs_);
}

void Engine::prepare_reference(Sample& sample, int suffix) {
  if (suffix >= num_suffixes()) return;
  Sample::Reference& reference = *sample.references_[static_cast<std::size_t>(suffix)];
  std::call_once(reference.once, [&] {
    // Which kernels the runtime picks depends on the shapes alone: a suffix that repeats the float
    // pass does so for every sample of the same shapes, and need not be run again without a change.
    const std::pair key{suffix, sample.shapes_};
    if (shortcuts_) {
      const std::lock_guard lock(exact_mutex_);
      const auto found = repeated_bits_.find(key);
      if (found != repeated_bits_.end() && found->second >= kEnoughBits) {
        reference.is_float_pass = true;
        return;
      }
    }
    std::vector<Tensor> outputs = finish(suffixes_[static_cast<std::size_t>(suffix)], {}, sample);
    const auto same_bits = [](const Tensor& a, const Tensor& b) { return a.equal_bits(b); };
    if (!shortcuts_ || !std::equal(outputs.begin(), outputs.end(), sample.outputs_.begin(),
                                   sample.outputs_.end(), same_bits)) {
      reference.outputs = std::move(outputs);
      return;
    }
    reference.is_float_pass = true;
    const std::lock_guard lock(exact_mutex_);
    repeated_bits_[key] += bits_made(outputs, sample);
  });
}

bool Engine::repeats_float_pass(Sample& sample, int suffix) {
  prepare_reference(sample, suffix);
  return sample.references_[static_cast<std::size_t>(suffix)]->is_float_pass;
}

Engine::Boundary Engine::quantize_boundary(const State& state, const Sample& sample) const {
  Boundary boundary;
  for (const int s : state) {
    const TensorId t = placement_.sites[static_cast<std::size_t>(s)].tensor;
    const auto value = sample.values_.find(t);
    if (value == sample.values_.end()) continue;  // dead
    Tensor quantized = quantizer(s)->fake_quant(value->second);
    boundary.changed = boundary.changed || !quantized.equal_bits(value->second);
    boundary.values.emplace(t, std::move(quantized));
  }
  return boundary;
}

Engine::Boundary Engine::run_state_span(const State& state, Span span, const Sample& sample) {
  // What leaves the span changed: made, or quantized for a graph input, in it, and needed behind.
  const auto quantized_here = [&](TensorId t) {
    return std::any_of(state.begin(), state.end(), [&](int s) {
      return placement_.sites[static_cast<std::size_t>(s)].tensor == t && quantizes_in(s, span);
    });
  };
  std::vector<TensorId> wanted = changed_behind(state);
  std::erase_if(
      wanted, [&](TensorId t) { return order_.produced_at(t) < span.begin && !quantized_here(t); });
  Boundary boundary;
  if (wanted.empty()) return boundary;
  const PartSession session =
      span_session(span, state, wanted, threads_per_run_, Optimization::kFull);
  const RunState run = run_state(state);
  const bool has_nodes = std::any_of(state.begin(), state.end(), [&](int s) {
    return !is_static_site(s) && quantizes_in(s, span);
  });
  const std::vector<Tensor> results = run_part(session, sample.values_, has_nodes ? &run : nullptr);
  count(cost(span.begin, span.end));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto it = sample.values_.find(wanted[i]);
    boundary.changed =
        boundary.changed || it == sample.values_.end() || !it->second.equal_bits(results[i]);
    boundary.values.emplace(wanted[i], results[i]);
  }
  return boundary;
}

Engine::Boundary Engine::boundary_of(const State& state, const Sample& sample) {
  int cut = 0;
  const Span span = span_of(state, &cut);
  return span.empty() ? quantize_boundary(state, sample) : run_state_span(state, span, sample);
}

std::vector<Tensor> Engine::finish_state(int suffix, const Boundary& boundary,
                                         const Sample& sample) {
  if (suffix == num_suffixes()) return in_output_order(boundary.values, sample.outputs_);
  return finish(suffixes_[static_cast<std::size_t>(suffix)], boundary.values, sample);
}

std::vector<Tensor> Engine::evaluate_outputs(const State& state, const Sample& sample) {
  if (!change_of(state)) return sample.outputs_;
  const Boundary boundary = boundary_of(state, sample);
  if (shortcuts_ && !boundary.changed) return sample.outputs_;
  return finish_state(suffix_of(state), boundary, sample);
}

Evaluation Engine::evaluate(const State& state, Sample& sample) {
  if (!change_of(state)) return {.outputs = sample.outputs_, .reference = &sample.outputs_};
  const Boundary boundary = boundary_of(state, sample);
  const int suffix = suffix_of(state);
  Evaluation result{.outputs = {}, .reference = &sample.outputs_};
  if (suffix < num_suffixes()) {
    prepare_reference(sample, suffix);
    const Sample::Reference& reference = *sample.references_[static_cast<std::size_t>(suffix)];
    if (!reference.is_float_pass) result.reference = &reference.outputs;
  }
  // Behind an unchanged boundary the suffix gives what it gave for the float pass.
  result.outputs =
      shortcuts_ && !boundary.changed ? *result.reference : finish_state(suffix, boundary, sample);
  return result;
}

}  // namespace bitsweep::simulate
