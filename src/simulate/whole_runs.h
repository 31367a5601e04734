#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "simulate/parts/part_sessions.h"
#include "simulate/parts/work_counter.h"

namespace bitsweep::simulate {

/// Runs of the whole model, threads inside the run.
class WholeRuns {
 public:
  WholeRuns(const Network& network, Shapes& shapes, PartSessions& sessions, WorkCounter& work)
      : network_(network), shapes_(shapes), sessions_(sessions), work_(work) {}

  /// How much the runtime may rewrite the network for this state.
  Optimization optimization_of(const State& state, const Feed& feed);
  /// The model's outputs, file order. @throws Error(kNotReady) for a site without an encoding.
  std::vector<Tensor> run(const State& state, const Feed& feed);
  /// The same for tensors inside the model, behind their quantizers; each must depend on the feed.
  std::vector<Tensor> run_tensors(const State& state, const Feed& feed,
                                  const std::vector<graph::TensorId>& tensors);

 private:
  /// A run without its feed.
  struct Prepared {
    PartSession part;
    RunState state;
  };
  /// The last one, kept for the next run: putting it together takes as long as a small model runs.
  struct Last {
    State state;
    Optimization optimization = Optimization::kFull;
    std::vector<std::uint64_t> versions;       // of the state's quantizers
    std::weak_ptr<const Session> session;      // the cache may drop it
    std::shared_ptr<const Prepared> prepared;  // without its session
  };

  Prepared prepare(const State& state, std::vector<graph::TensorId> outputs,
                   Optimization optimization);
  std::vector<Tensor> run(const PartSession& part, const RunState& state, const Feed& feed);

  const Network& network_;
  Shapes& shapes_;
  PartSessions& sessions_;
  WorkCounter& work_;
  std::mutex last_mutex_;
  Last last_;
};

}  // namespace bitsweep::simulate
