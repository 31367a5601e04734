#pragma once

#include <mutex>

#include <onnxruntime_cxx_api.h>

namespace bitsweep::simulate {

/// Weights in the layout of this CPU's kernels, held once for all sessions that are given the same
/// object and use those weights where they are (graph::is_shareable).
class PackedWeights {
 public:
  PackedWeights() = default;
  ~PackedWeights() {
    if (container_ != nullptr) Ort::GetApi().ReleasePrepackedWeightsContainer(container_);
  }
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  /// Made by the first session: the runtime is open by then.
  OrtPrepackedWeightsContainer* get() {
    std::call_once(made_, [&] {
      Ort::ThrowOnError(Ort::GetApi().CreatePrepackedWeightsContainer(&container_));
    });
    return container_;
  }

 private:
  std::once_flag made_;
  OrtPrepackedWeightsContainer* container_ = nullptr;
};

}  // namespace bitsweep::simulate
