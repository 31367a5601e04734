#include "calibrate/growing_histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quant/kernels/fake_quant.h"

namespace bitsweep {
namespace {

constexpr int kLog2BucketsPerSide = 12;
constexpr std::int64_t kBucketsPerSide = std::int64_t{1} << kLog2BucketsPerSide;

}  // namespace

void GrowingHistogram::grow_to(int exponent) {
  const int shift = exponent - exponent_;
  exponent_ = exponent;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    // Shifting right rounds down for negative numbers too: floor(x / 2w) = floor(floor(x / w) / 2).
    // Beyond 62 bits all that is left are the buckets on both sides of zero.
    const std::int64_t index = buckets_[i].index >> std::min(shift, 62);
    if (kept > 0 && buckets_[kept - 1].index == index) {
      buckets_[kept - 1].count += buckets_[i].count;
    } else {
      buckets_[kept++] = {index, buckets_[i].count};
    }
  }
  buckets_.resize(kept);
}

std::int64_t GrowingHistogram::add(std::span<const float> values) {
  float low = std::numeric_limits<float>::infinity();
  float high = -low;
  const auto not_finite = static_cast<std::int64_t>(
      kernels::kernels().min_max(values.data(), values.size(), &low, &high));
  const std::int64_t num_finite = static_cast<std::int64_t>(values.size()) - not_finite;
  if (num_finite == 0) return not_finite;
  low_ = num_values_ == 0 ? low : std::min(low_, low);
  high_ = num_values_ == 0 ? high : std::max(high_, high);
  num_values_ += num_finite;

  const double magnitude = std::max(-static_cast<double>(low), static_cast<double>(high));
  if (magnitude > 0.0) {
    // ilogb + 1 - log2(buckets) keeps magnitude / width below the number of buckets.
    const int exponent = std::ilogb(magnitude) + 1 - kLog2BucketsPerSide;
    if (!any_nonzero_) {
      exponent_ = exponent;  // until now all values sit in bucket 0, whatever its width
      any_nonzero_ = true;
    } else if (exponent > exponent_) {
      grow_to(exponent);
    }
  }

  std::vector<std::int64_t> hits(2 * kBucketsPerSide, 0);
  for (const Bucket& bucket : buckets_)
    hits[static_cast<std::size_t>(bucket.index + kBucketsPerSide)] = bucket.count;
  const double inverse = any_nonzero_ ? std::ldexp(1.0, -exponent_) : 1.0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double position =
        std::floor(static_cast<double>(value) * inverse) + static_cast<double>(kBucketsPerSide);
    ++hits[static_cast<std::size_t>(position)];
  }
  buckets_.clear();
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (hits[i] > 0) buckets_.push_back({static_cast<std::int64_t>(i) - kBucketsPerSide, hits[i]});
  }
  buckets_.shrink_to_fit();
  return not_finite;
}

Histogram GrowingHistogram::histogram() const {
  Histogram result;
  result.support = HistogramSupport::kGrowing;
  if (!any_nonzero_) return result;
  result.width = std::ldexp(1.0, exponent_);
  result.min = low_;
  result.max = high_;
  result.first = buckets_.front().index;
  result.count = buckets_.back().index - result.first + 1;
  result.first_position = static_cast<double>(result.first);
  result.buckets.reserve(buckets_.size());
  for (const Bucket& bucket : buckets_) {
    result.buckets.push_back(
        {bucket.index, static_cast<double>(bucket.count) / static_cast<double>(num_values_)});
  }
  return result;
}

}  // namespace bitsweep
