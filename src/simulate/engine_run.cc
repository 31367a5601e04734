// Runs of the whole model.
#include <algorithm>
#include <utility>

#include "simulate/engine.h"

namespace bitsweep::simulate {

using graph::TensorId;

Engine::WholeRun Engine::make_whole_run(const State& state, const std::vector<TensorId>& outputs,
                                        Optimization optimization) {
  check_ready(state);
  find_shapes();  // fusions and layouts depend on them
  const Span whole{0, order_.size()};
  return {.session = span_session(whole, state, outputs, num_threads_, optimization),
          .state = run_state(state),
          .has_nodes = std::any_of(state.begin(), state.end(), [&](int s) {
            return !is_static_site(s) && quantizes_in(s, whole);
          })};
}

std::vector<Tensor> Engine::run_whole(const WholeRun& run, const PartSession& session,
                                      const Feed& feed) {
  count(1.0);
  return run_part(session, feed_values(feed), run.has_nodes ? &run.state : nullptr);
}

std::vector<Tensor> Engine::run(const State& state, const Feed& feed) {
  // Steps of up to 8 bits are so coarse that last bits hardly ever move a value. With nothing
  // quantized this is the model itself: what a plain session of the runtime gives, to the last bit.
  constexpr int kCoarseBits = 8;
  const bool fine = std::any_of(state.begin(), state.end(), [&](int s) {
    return !is_static_site(s) && quantizer(s)->format().bitwidth > kCoarseBits;
  });
  return fine ? run_portable(state, feed) : run(state, feed, Optimization::kFull);
}

std::vector<Tensor> Engine::run_portable(const State& state, const Feed& feed) {
  const bool portable = options_.portable_runs && !state.empty();
  return run(state, feed, portable ? Optimization::kPortable : Optimization::kFull);
}

std::vector<Tensor> Engine::run(const State& state, const Feed& feed, Optimization optimization) {
  std::vector<std::uint64_t> versions;
  versions.reserve(state.size());
  for (const int s : state) versions.push_back(quantizer(s)->version());
  LastRun last;
  {
    const std::lock_guard lock(last_run_mutex_);
    if (last_run_.state == state && last_run_.optimization == optimization &&
        last_run_.versions == versions)
      last = last_run_;
  }
  PartSession session;
  session.session = last.session.lock();
  if (session.session != nullptr) {
    session.inputs = last.run->session.inputs;
    session.outputs = last.run->session.outputs;
  } else {
    WholeRun run = make_whole_run(state, distinct_outputs(), optimization);
    session = run.session;
    run.session.session.reset();
    last = {.state = state,
            .optimization = optimization,
            .versions = std::move(versions),
            .session = session.session,
            .run = std::make_shared<const WholeRun>(std::move(run))};
    const std::lock_guard lock(last_run_mutex_);
    last_run_ = last;
  }
  const std::vector<Tensor> results = run_whole(*last.run, session, feed);
  std::map<TensorId, Tensor> values;
  for (std::size_t i = 0; i < session.outputs.size(); ++i)
    values.emplace(session.outputs[i], results[i]);
  return in_output_order(values, results);
}

std::vector<Tensor> Engine::run_tensors(const State& state, const Feed& feed,
                                        const std::vector<TensorId>& tensors) {
  // Fusions would differ between states, and little can be fused where every tensor is wanted.
  const WholeRun run = make_whole_run(state, tensors, Optimization::kNone);
  return run_whole(run, run.session, feed);
}

}  // namespace bitsweep::simulate
