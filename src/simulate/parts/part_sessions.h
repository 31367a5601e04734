#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "simulate/network/tensor_values.h"
#include "simulate/parts/change.h"
#include "simulate/parts/suffix.h"
#include "simulate/runtime/session_cache.h"

namespace bitsweep::simulate {

/// A session of a part of the network with the tensors it takes and gives.
struct PartSession {
  std::shared_ptr<const Session> session;
  std::vector<graph::TensorId> inputs;
  std::vector<graph::TensorId> outputs;
  bool takes_state = false;  ///< holds quantizer nodes

  /// Its outputs. `values` has all inputs; `state` is of use only where it takes one.
  std::vector<Tensor> run(const TensorValues& values, const RunState& state = {}) const;
};

/// A part of the network with quantizers in it. Sites that do not act in the span are passed over.
struct SimulatedPart {
  Span span{};
  State constants{};  ///< sites whose quantized value is built in
  State nodes{};      ///< sites with a quantizer node, which does what the RunState of a run says
  std::vector<graph::TensorId> outputs{};
  int threads = 1;
  Optimization optimization = Optimization::kFull;
  bool observes = false;  ///< activations are observed and stay as they are
};

/// With the quantizers of a state; constants are built in.
SimulatedPart simulated_part(const Network& network, Span span, const State& state);

/// Sessions of parts of the network, made when they are asked for first and kept as long as the
/// memory limit lets them. Thread-safe but for the setters.
class PartSessions {
 public:
  explicit PartSessions(const Network& network);

  PartSession simulated(SimulatedPart part);
  /// In float form.
  PartSession suffix(const Suffix& suffix, int threads, Optimization optimization);

  void set_memory_limit(std::size_t bytes) { sessions_.set_capacity(bytes); }
  /// Of the sessions that are kept.
  std::size_t size_bytes() const { return sessions_.size_bytes(); }
  /// See SessionOptions. A change drops all sessions.
  void set_pack_weights(bool pack);
  void drop_observing();

 private:
  /// How much of what was freed may stay with the process: little where memory is short.
  std::size_t freed_bytes_may_stay() const;
  SessionOptions session_options(int threads) const;
  SessionRecipe recipe(const SimulatedPart& part, const std::vector<graph::TensorId>& inputs) const;
  bool may_overwrite(graph::TensorId t, Span span) const;

  const Network& network_;
  /// The model fixes every input's shape: the parts may fix theirs, for the same fusions.
  bool static_shapes_ = false;
  bool pack_weights_ = true;
  SessionCache sessions_;
};

}  // namespace bitsweep::simulate
