#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bitsweep/model.h"
#include "bitsweep/tensor.h"
#include "graph/pieces/subgraph.h"
#include "simulate/runtime/run_state.h"

namespace bitsweep::simulate {

/// How much the runtime may rewrite a piece.
enum class Optimization {
  kNone,  ///< nothing, and no packing: slower, but weights are used where they are, without a copy
  kPortable,  ///< fusions, but no memory layouts of this CPU: sums run in the order that any
              ///< machine has
  kFull,      ///< everything, for speed
};

class PackedWeights;

struct SessionOptions {
  int num_threads =
      1;  ///< 1: runs on the calling thread only, so that many states can run side by side
  int pool_threads =
      1;  ///< size of the process-wide pool that sessions with more than one thread share
  Optimization optimization = Optimization::kFull;
  /// Weights that are this session's alone (fake-quantized ones): part of its size also where it
  /// uses weights without a copy.
  std::size_t own_weight_bytes = 0;
  /// False: kernels use weights as they are, which is slower and needs no second copy.
  bool pack_weights = true;
  /// Needed where the piece has shareable weights; null: each session packs its own.
  std::shared_ptr<PackedWeights> packed_weights;
  /// See give_back_freed_memory().
  std::size_t freed_bytes_may_stay = 0;
  std::filesystem::path ort_library;
  std::vector<std::filesystem::path> custom_op_libraries;
};

/// An ONNX Runtime session of a piece of the model. run() may be called from many threads at once.
class Session {
 public:
  /// @throws Error(kRuntime) with the runtime's reason when it refuses the piece.
  Session(graph::Piece piece, const SessionOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// `inputs` in the order of the piece; `state` for pieces that hold quantizers. Outputs keep the
  /// runtime's buffers.
  std::vector<Tensor> run(std::span<const Tensor> inputs, const RunState* state = nullptr) const;

  /// Element type of output `i`; kUndefined for sequences, maps and optionals.
  DataType output_type(std::size_t i) const;
  /// Dimensions of output `i` as far as the runtime infers them from the model; nullopt when it
  /// knows nothing.
  std::optional<std::vector<Dimension>> output_shape(std::size_t i) const;

  /// Estimate of the memory that the session holds for itself: its weights, unless it only points
  /// at the model's, and what the runtime needs for any session.
  std::size_t size_bytes() const { return size_bytes_; }
  /// The same before it is made.
  static std::size_t size_of(const graph::Piece& piece, const SessionOptions& options);

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
  std::size_t size_bytes_ = 0;
  std::size_t freed_bytes_may_stay_ = 0;
};

}  // namespace bitsweep::simulate
