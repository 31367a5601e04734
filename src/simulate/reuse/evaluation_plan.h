#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simulate/parts/change.h"

namespace bitsweep::simulate {

/// Of suffixes (index) that gave the very bits of the float pass for samples of these shapes: how
/// many bits they made.
using BitCounts = std::map<std::pair<int, std::string>, std::int64_t>;

/// How the states of a sweep are run; see plan_cuts().
struct EvaluationPlan {
  Cuts cuts;  ///< empty: nothing is reused
  /// Cut (index) and tensors live there for which a suffix of their own pays.
  std::vector<std::pair<int, std::vector<graph::TensorId>>> partial_suffixes;
  int threads_per_run = 1;   ///< 1 when many states run side by side
  bool pack_weights = true;  ///< see SessionOptions
  /// Of which the states run in step, so that little memory needs to hold few sessions.
  std::size_t open_samples = 2;
  std::size_t session_bytes = 0;  ///< that may be kept of sessions; 0: as it was
  BitCounts repeated_bits;        ///< as far as known
};

}  // namespace bitsweep::simulate
