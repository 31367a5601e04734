#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "calibrate/histogram.h"

namespace bitsweep {

/// A histogram that grows with its values: the bucket width is the smallest power of two for which
/// the largest magnitude seen needs at most 4096 buckets on its side of zero. Growing merges pairs
/// of buckets, so the content depends only on which values were added, never on their order or
/// batches.
class GrowingHistogram : public HistogramBuilder {
 public:
  std::int64_t add(std::span<const float> values) override;
  Histogram histogram() const override;

 private:
  void grow_to(int exponent);

  struct Bucket {
    std::int64_t index = 0;
    std::int64_t count = 0;
  };
  int exponent_ = 0;  // width = 2^exponent_; meaningless while only zeros were seen
  bool any_nonzero_ = false;
  std::int64_t num_values_ = 0;
  float low_ = 0.0F;
  float high_ = 0.0F;
  std::vector<Bucket> buckets_;  // by ascending index
};

}  // namespace bitsweep
