#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "bitsweep/mix.h"
#include "progress.h"

namespace bitsweep::cli {

/// Shows how far a mix is: samples of one step after the other, then the mixes that were run.
class MixReporter {
 public:
  explicit MixReporter(ProgressReporter& reporter) : reporter_(reporter) {}

  void update(const MixProgress& progress);

 private:
  ProgressReporter& reporter_;
  std::string stage_;
  std::chrono::steady_clock::time_point begin_;
  std::int64_t num_mixes_ = 0;
};

}  // namespace bitsweep::cli
