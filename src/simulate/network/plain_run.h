#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "simulate/network/network.h"

namespace bitsweep::simulate {

struct PlainRunOptions {
  /// Constants with another value than the simulation has: biases that are stored in 32 bits.
  std::map<graph::TensorId, Tensor> constants{};
  std::map<std::pair<int, int>, Tensor> constant_inputs{};  ///< by (node, input)
  std::int64_t opset = 0;      ///< of the exported model, where it is higher than the simulation's
  bool quantized = true;       ///< false: the float model
  bool rounds_as_file = true;  ///< false: half steps go up, as the simulation rounds them
  /// Tensors whose values run() gives; those behind their quantizer. Not constants.
  std::vector<graph::TensorId> outputs{};
};

/// Whether the weights take more than SimulationOptions::calibration_copies_bytes: then no
/// quantized copies of all of them are kept beside the model.
bool has_large_weights(const Network& network);

/// The simulation as a runtime without optimizations computes its export: operator by operator, on
/// one thread, with the rounding of QuantizeLinear. Constants that are stored rounded keep the
/// rounding of the simulation. Takes the quantizers as they are when it is made. Large weights
/// are quantized anew in each run, one by one.
class PlainRun {
 public:
  /// @throws Error(kNotReady) for an enabled quantizer without encoding.
  PlainRun(const Network& network, const PlainRunOptions& options);

  /// Values of the wanted tensors, in their order. @throws Error(kRuntime).
  std::vector<Tensor> run(const Feed& feed) const;

 private:
  std::vector<std::string> input_names_;
  bool has_nodes_ = false;
  RunState state_;
  std::unique_ptr<const Session> session_;
};

}  // namespace bitsweep::simulate
