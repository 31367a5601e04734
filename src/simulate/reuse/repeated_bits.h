#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "bitsweep/tensor.h"
#include "simulate/reuse/evaluation_plan.h"

namespace bitsweep::simulate {

/// Of which suffixes it is known that they repeat the float pass to the last bit.
///
/// Which kernels the runtime picks depends on the shapes alone: a suffix that repeats the float
/// pass does so for every sample of the same shapes. One that computes in another order repeats a
/// value by chance, where few bits are kept often, so that enough of them are asked for.
/// Thread-safe but for reset().
class RepeatedBits {
 public:
  void reset(BitCounts counts) { counts_ = std::move(counts); }
  bool repeats(int suffix, const std::string& shapes) const;
  /// The suffix made these outputs, bit for bit those of the float pass.
  void add(int suffix, const std::string& shapes, const std::vector<Tensor>& outputs,
           const std::vector<Tensor>& float_pass);
  BitCounts counts() const;

 private:
  mutable std::mutex mutex_;
  BitCounts counts_;
};

}  // namespace bitsweep::simulate
