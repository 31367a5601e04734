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

// The rule of the reference: it keeps the bucket in which the share is reached only on the lower
// side.
Range reference_range(const Histogram& histogram, double share) {
  const std::vector<double> sums = running_sums(histogram);
  double lower = histogram.left(histogram.buckets.back().index);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] >= 1.0 - share) {
      lower = histogram.left(histogram.buckets[i].index);
      break;
    }
  }
  // Down from the top, the first bucket below it with a sum under the share. Empty buckets have the
  // sum of the one before them, so that bucket lies right below one that holds something.
  double upper = histogram.left(histogram.buckets.front().index) + histogram.width;
  for (std::size_t i = sums.size(); i-- > 1;) {
    if (sums[i - 1] < share) {
      upper = histogram.left(histogram.buckets[i].index - 1) + histogram.width;
      break;
    }
  }
  if (upper == lower) upper += histogram.width;
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
