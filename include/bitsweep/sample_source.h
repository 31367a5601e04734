#pragma once

#include <cstdint>

#include "bitsweep/export.h"
#include "bitsweep/tensor.h"

namespace BITSWEEP_EXPORT bitsweep {

/// Gives samples one after another; false at the end. Never called from two threads at once.
/// `rewind` starts over.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual bool next(Feed* feed) = 0;
  virtual void rewind() = 0;
  /// Labels of the sample that next() gave last, for metrics that compare with the truth; undefined
  /// without.
  virtual Tensor labels() const { return {}; }
  /// Number of samples, -1 when unknown.
  virtual std::int64_t size() const { return -1; }
};

}  // namespace BITSWEEP_EXPORT bitsweep
