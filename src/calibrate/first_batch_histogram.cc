#include "calibrate/first_batch_histogram.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "quant/kernels/fake_quant.h"

namespace bitsweep {
namespace {

constexpr std::int64_t kBuckets = 1536;
constexpr float kLargest =
    static_cast<float>(0.99 * static_cast<double>(std::numeric_limits<float>::max()));
constexpr float kNarrowest = 0.01F;
// How much wider the support is than what the first batch held.
constexpr float kWidening = 3.0F;

}  // namespace

void FirstBatchHistogram::set_support(float low, float high) {
  if (low == high) high = std::max(high, low + kNarrowest);
  // Buckets narrower than the distance of neighbouring floats cannot be told apart by float32
  // arithmetic: large values, all nearly alike, would fall beside the histogram.
  const float largest = std::max(std::abs(low), std::abs(high));
  const float spacing = largest - std::nextafter(largest, 0.0F);
  high = std::max(high, low + spacing * static_cast<float>(kBuckets) / kWidening);
  const float centre = (low + high) * 0.5F;
  low = std::max(centre - kWidening * (centre - low), -kLargest);
  high = std::min(centre + kWidening * (high - centre), kLargest);
  content_.width =
      (static_cast<double>(high) - static_cast<double>(low)) / static_cast<double>(kBuckets);
  content_.count = kBuckets;
  content_.first_position = static_cast<double>(low) / content_.width;
  content_.first = static_cast<std::int64_t>(std::floor(content_.first_position));
}

std::int64_t FirstBatchHistogram::add(std::span<const float> values) {
  float low = std::numeric_limits<float>::infinity();
  float high = -low;
  const auto not_finite = static_cast<std::int64_t>(
      kernels::kernels().min_max(values.data(), values.size(), &low, &high));
  const std::int64_t num_finite = static_cast<std::int64_t>(values.size()) - not_finite;
  if (num_finite == 0) return not_finite;
  if (num_batches_ == 0) {
    if (low == 0.0F && high == 0.0F) return not_finite;
    set_support(low, high);
  }

  std::array<std::int64_t, kBuckets> hits = {};
  const auto inverse = static_cast<float>(1.0 / content_.width);
  const auto first = static_cast<float>(content_.first);
  for (const float value : values) {
    const float position = std::floor(value * inverse) - first;
    // False for NaN and infinities as well.
    if (position >= 0.0F && position < static_cast<float>(kBuckets))
      ++hits[static_cast<std::size_t>(position)];
  }

  const auto before = static_cast<double>(num_batches_);
  ++num_batches_;
  std::array<double, kBuckets> mass = {};
  for (const Histogram::Bucket& bucket : content_.buckets) {
    mass[static_cast<std::size_t>(bucket.index - content_.first)] = bucket.mass;
  }
  content_.buckets.clear();
  for (std::size_t i = 0; i < mass.size(); ++i) {
    const double share = static_cast<double>(hits[i]) / static_cast<double>(num_finite);
    const double mixed = (mass[i] * before + share) / static_cast<double>(num_batches_);
    if (mixed > 0.0)
      content_.buckets.push_back({content_.first + static_cast<std::int64_t>(i), mixed});
  }
  content_.buckets.shrink_to_fit();
  return not_finite;
}

Histogram FirstBatchHistogram::histogram() const {
  Histogram result = content_;
  if (!result.buckets.empty()) {
    // Left edges on both sides, as in the reference: the inside of the top bucket is clipped.
    result.min = result.left(result.buckets.front().index);
    result.max = result.left(result.buckets.back().index);
  }
  return result;
}

}  // namespace bitsweep
