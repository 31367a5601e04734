#include "simulate/whole_runs.h"

#include <algorithm>
#include <utility>

namespace bitsweep::simulate {

using graph::TensorId;

WholeRuns::Prepared WholeRuns::prepare(const State& state, std::vector<TensorId> outputs,
                                       Optimization optimization) {
  network_.check_ready(state);
  shapes_.find();  // fusions and layouts depend on them
  SimulatedPart whole = simulated_part(network_, {0, network_.order().size()}, state);
  whole.outputs = std::move(outputs);
  whole.threads = network_.num_threads();
  whole.optimization = optimization;
  return {.part = sessions_.simulated(std::move(whole)), .state = network_.run_state(state)};
}

std::vector<Tensor> WholeRuns::run(const PartSession& part, const RunState& state,
                                   const Feed& feed) {
  work_.add(1.0);
  return part.run(values_of(network_.graph(), feed), state);
}

Optimization WholeRuns::optimization_of(const State& state, const Feed& feed) {
  // Steps of up to 8 bits are so coarse that last bits hardly ever move a value, of which a small
  // model has few. With nothing quantized this is the model itself: what a plain session of the
  // runtime gives, to the last bit.
  constexpr int kCoarseBits = 8;
  if (state.empty()) return Optimization::kFull;
  // Whether a model is small does not depend on what ran before.
  shapes_.keep_sample(feed);
  shapes_.find();
  if (!network_.options().portable_runs) return Optimization::kFull;
  const bool fine = std::any_of(state.begin(), state.end(), [&](int s) {
    return !network_.is_static(s) && network_.quantizer(s)->format().bitwidth > kCoarseBits;
  });
  return fine || shapes_.is_small_model() ? Optimization::kPortable : Optimization::kFull;
}

std::vector<Tensor> WholeRuns::run(const State& state, const Feed& feed) {
  const Optimization optimization = optimization_of(state, feed);
  std::vector<std::uint64_t> versions;
  versions.reserve(state.size());
  for (const int s : state) versions.push_back(network_.quantizer(s)->version());
  Last last;
  {
    const std::lock_guard lock(last_mutex_);
    if (last_.state == state && last_.optimization == optimization && last_.versions == versions)
      last = last_;
  }
  PartSession part;
  if (std::shared_ptr<const Session> session = last.session.lock()) {
    part = last.prepared->part;
    part.session = std::move(session);
  } else {
    Prepared prepared = prepare(state, distinct_outputs(network_.graph()), optimization);
    part = prepared.part;
    prepared.part.session.reset();
    last = {.state = state,
            .optimization = optimization,
            .versions = std::move(versions),
            .session = part.session,
            .prepared = std::make_shared<const Prepared>(std::move(prepared))};
    const std::lock_guard lock(last_mutex_);
    last_ = last;
  }
  const std::vector<Tensor> results = run(part, last.prepared->state, feed);
  TensorValues values;
  for (std::size_t i = 0; i < part.outputs.size(); ++i) values.emplace(part.outputs[i], results[i]);
  return in_output_order(network_.graph(), values, results);
}

std::vector<Tensor> WholeRuns::run_tensors(const State& state, const Feed& feed,
                                           const std::vector<TensorId>& tensors) {
  // Fusions would differ between states, and little can be fused where every tensor is wanted.
  const Prepared prepared = prepare(state, tensors, Optimization::kNone);
  return run(prepared.part, prepared.state, feed);
}

}  // namespace bitsweep::simulate
