#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "calibrate/histogram.h"

namespace bitsweep {

/// The reference implementation's histogram: 1536 buckets over three times the range of the first
/// batch that is not all zero. Later values outside are dropped, yet counted as values; every batch
/// has the same weight. Source: spec section 5.2.
class FirstBatchHistogram : public HistogramBuilder {
 public:
  std::int64_t add(std::span<const float> values) override;
  Histogram histogram() const override;

 private:
  void set_support(float low, float high);

  Histogram content_;
  std::int64_t num_batches_ = 0;
};

}  // namespace bitsweep
