#pragma once

#include <mutex>
#include <vector>

#include "simulate/network/network.h"
#include "simulate/network/tensor_values.h"

namespace bitsweep::simulate {

/// The shapes of all tensors, found on one sample, and the costs of nodes that follow from them.
class Shapes {
 public:
  explicit Shapes(Network& network) : network_(network) {}

  /// Finds the shapes that tensors have with this sample; runs the float model only for those that
  /// the runtime does not infer.
  void observe(const Feed& feed);
  /// Keeps a sample for find(), unless shapes are known or one is kept. Thread-safe, like find().
  void keep_sample(const Feed& feed);
  /// Whether shapes are known; observes them where a sample was kept.
  bool find();
  /// Makes them known, with this sample where none was kept.
  void find_or_observe(const Feed& feed) {
    if (!find()) observe(feed);
  }

  /// Cost of nodes [begin, end) in units of one float pass; by their number before shapes are
  /// known.
  double cost(int begin, int end) const;
  /// Estimated time of a float pass, as far as shapes are known.
  double float_pass_ns() const { return float_pass_ns_; }
  /// Whether a run is mostly the call itself: layouts of this CPU save nothing then, and in the few
  /// outputs of such a model one value that rounds the other way shows.
  bool is_small_model() const {
    constexpr double kSmallPassNs = 2e5;
    return known_ && float_pass_ns_ < kSmallPassNs;
  }

 private:
  std::vector<graph::TensorId> infer(const graph::SubgraphSpec& spec);
  void run(graph::SubgraphSpec spec, const std::vector<graph::TensorId>& tensors,
           const TensorValues& values);
  void sum_costs();

  Network& network_;
  std::mutex mutex_;  // guards the next two in find()
  bool known_ = false;
  Feed sample_;  // until shapes are known
  std::vector<double>
      cost_before_;  // by position, in units of the whole; empty before shapes are known
  double float_pass_ns_ = 0.0;
};

}  // namespace bitsweep::simulate
