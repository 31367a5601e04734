#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "simulate/engine.h"
#include "simulate/parts/part_sessions.h"

namespace bitsweep::simulate {

/// Runs states of the whole network that differ little from each other, threads inside the run.
///
/// The network is cut into a few segments. A segment's session serves all states with the same
/// weights there, and a sample's values at a cut serve all states with the same quantizers in front
/// of it. Whether this gives the bits of whole runs is looked at in the first runs of each kind;
/// where it does not, whole runs are made. One thread at a time.
class NeighbourRuns {
 public:
  /// `max_kept_bytes`: of values at cuts; those that were used longest ago go.
  NeighbourRuns(Engine& engine, std::int64_t max_kept_bytes)
      : engine_(engine), max_kept_bytes_(max_kept_bytes) {}

  /// As WholeRuns::run(). `sample`: names the feed in all calls.
  std::vector<Tensor> run(const State& state, const Feed& feed, std::size_t sample);

 private:
  /// One way of computing: what the runtime may rewrite, and shapes of inputs.
  struct Kind {
    int num_checks = 0;
    std::int64_t num_values = 0;  ///< of outputs that were the same
    bool repeats_whole_runs = true;
    bool is_known() const;
  };
  /// Cut, quantizers in front of it, sample.
  using Key = std::tuple<std::size_t, int, std::size_t>;
  struct Kept {
    Key key;
    TensorValues values;
    std::int64_t bytes;
  };

  void choose_cuts();
  std::vector<Tensor> run_segments(const State& state, const Feed& feed, std::size_t sample,
                                   Optimization optimization);
  void run_segment(const State& state, const RunState& actions, Span span,
                   Optimization optimization, TensorValues* values);
  Span segment(std::size_t i) const;
  /// A number for the quantizers that act in front of a cut, as they are now.
  int number_of(const State& state, int cut, Optimization optimization);
  void keep(const Key& key, const TensorValues& values, int cut);

  Engine& engine_;
  std::int64_t max_kept_bytes_;
  bool has_cuts_ = false;
  Cuts cuts_;
  std::map<std::pair<Optimization, std::string>, Kind> kinds_;
  std::map<std::string, int> numbers_;
  std::int64_t kept_bytes_ = 0;
  std::list<Kept> recent_;  // front: used last
  std::map<Key, std::list<Kept>::iterator> kept_;
};

}  // namespace bitsweep::simulate
