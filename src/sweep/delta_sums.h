#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bitsweep/interactions.h"
#include "bitsweep/tensor.h"

namespace bitsweep::sweeping {

/// What a state changes in the compared outputs of one sample; long outputs are sketched.
using Delta = std::vector<std::vector<float>>;

/// Adds up the inner products of all states' deltas, sample by sample. Thread-safe, and the same
/// bits in whatever order samples finish.
class DeltaSums {
 public:
  /// `outputs`: those to compare; empty: every floating-point one.
  DeltaSums(std::size_t num_states, std::vector<int> outputs);

  Delta delta(std::span<const Tensor> simulated, std::span<const Tensor> reference) const;
  /// `deltas` by state; `reference`: the float outputs.
  void add_sample(std::int64_t sample, const std::vector<Delta>& deltas,
                  std::span<const Tensor> reference);

  /// Of the samples added without a gap from the first one on.
  std::int64_t num_samples() const;
  Interactions result(const std::vector<std::string>& groups,
                      const std::vector<std::size_t>& state_of_group) const;

 private:
  std::vector<int> compared(std::span<const Tensor> reference) const;

  std::size_t num_states_;
  std::vector<int> outputs_;
  mutable std::mutex mutex_;
  std::int64_t next_ = 0;
  std::map<std::int64_t, std::vector<Interactions::Output>> waiting_;  // samples that came early
  std::vector<Interactions::Output> total_;
};

}  // namespace bitsweep::sweeping
