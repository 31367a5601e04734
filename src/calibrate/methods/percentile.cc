#include "calibrate/methods/percentile.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace bitsweep {
namespace {

using Range = std::pair<double, double>;

std::vector<double> running_sums(const Histogram& histogram) {
  std::vector<double> sums;
  sums.reserve(histogram.buckets.size());
  double sum = 0.0;
  for (const Histogram::Bucket& bucket : histogram.buckets) sums.push_back(sum += bucket.mass);
  return sums;
}

// The rule of the reference, with its float32 edges. At 100 percent the range is the one of
// tf_enhanced.
Range reference_range(const Histogram& histogram, double share) {
  constexpr float kNarrowest = 0.01F;
  const float bottom = std::min(static_cast<float>(histogram.min), 0.0F);
  const float ceiling = std::max({static_cast<float>(histogram.max), 0.0F, bottom + kNarrowest});
  if (share >= 1.0) return {bottom, ceiling};
  const std::vector<double> sums = running_sums(histogram);
  auto lower = static_cast<float>(histogram.left(histogram.buckets.back().index));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] >= 1.0 - share) {
      lower = static_cast<float>(histogram.left(histogram.buckets[i].index));
      break;
    }
  }
  // Down from the ceiling, the first bucket with a sum under the share. Empty buckets have the sum
  // of the one before them, 0 below the first, so it lies right below one that holds something,
  // unless dropped values keep all sums under the share.
  std::int64_t last = histogram.first + histogram.count - 1;
  if (sums.back() >= share) {
    std::size_t i = sums.size() - 1;
    while (i > 0 && sums[i - 1] >= share) --i;
    last = histogram.buckets[i].index - 1;
  }
  while (histogram.left(last) >= static_cast<double>(ceiling)) --last;
  // The reference takes the width from two edges; its rounding decides whether the ends count as
  // equal.
  const double width = histogram.left(histogram.first + 1) - histogram.left(histogram.first);
  double top = histogram.left(last) + width;
  if (static_cast<float>(top) == lower) top += width;
  const auto upper = static_cast<float>(top);
  return {lower, upper};
}

// Every bucket that the shares touch is inside; nothing is clipped at 100 percent.
Range covering_range(const Histogram& histogram, double share) {
  constexpr double kRounding = 1e-12;  // sums of shares miss 1 by less
  const std::vector<double> sums = running_sums(histogram);
  std::size_t lowest = 0;
  while (lowest + 1 < sums.size() && sums[lowest] <= 1.0 - share - kRounding) ++lowest;
  std::size_t highest = 0;
  while (highest + 1 < sums.size() && sums[highest] < share - kRounding) ++highest;
  return {
      std::max(histogram.left(histogram.buckets[lowest].index), histogram.min),
      std::min(histogram.left(histogram.buckets[highest].index) + histogram.width, histogram.max)};
}

}  // namespace

AffineEncoding percentile_encoding(const Histogram& histogram, double percentile,
                                   const AffineOptions& options) {
  const bool growing = histogram.support == HistogramSupport::kGrowing;
  // The reference holds the percentile in float32.
  const double share =
      growing ? percentile / 100.0 : static_cast<double>(static_cast<float>(percentile) / 100.0F);
  const auto [lower, upper] =
      growing ? covering_range(histogram, share) : reference_range(histogram, share);
  return make_encoding(std::min(lower, 0.0), std::max(upper, 0.0), options);
}

}  // namespace bitsweep
