#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bitsweep/metric.h"
#include "bitsweep/simulation.h"
#include "bitsweep/tensor.h"
#include "simulate/network/network.h"

namespace bitsweep::journal {

/// 32 bytes that stand for some content: equal content, equal key, in every process.
using Key = std::string;

/// Names, types, shapes and elements of a sample.
Key key_of(const Feed& feed);

/// The metric with what its sums depend on, labels included.
Key key_of(std::string_view metric, const MetricOptions& options, const Tensor& labels);

/// Keys of states: graph and weights, versions of bitsweep and ONNX Runtime, and for each quantizer
/// of the state its tensor, format and encoding.
class StateKeys {
 public:
  /// `path`: how states are run, where that decides the last bits (with or without reuse).
  StateKeys(const Simulation& simulation, std::string_view path);
  Key of(const simulate::State& state) const;

 private:
  Key base_;
  std::vector<Key> sites_;
};

}  // namespace bitsweep::journal
