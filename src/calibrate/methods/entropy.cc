#include "calibrate/methods/entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace bitsweep {
namespace {

constexpr int kThresholds = 128;
constexpr int kSmallestThreshold = 8;  // of kThresholds: tighter clipping is never a sane answer
constexpr double kEmpty = 1e-12;       // stands for a bucket that the quantized form cannot reach

// KL divergence between the histogram clipped to [low, high] and its form on the grid: every level
// spreads its mass evenly over the buckets that hold something.
double divergence(const Histogram& histogram, double low, double high, const AffineEncoding& e) {
  const auto& buckets = histogram.buckets;
  std::size_t begin = 0;
  while (begin < buckets.size() && histogram.middle(buckets[begin].index) < low) ++begin;
  std::size_t end = buckets.size();
  while (end > begin && histogram.middle(buckets[end - 1].index) > high) --end;
  if (begin == end) return std::numeric_limits<double>::infinity();

  double clipped_low = 0.0;
  double clipped_high = 0.0;
  double kept = 0.0;
  for (std::size_t i = 0; i < begin; ++i) clipped_low += buckets[i].mass;
  for (std::size_t i = end; i < buckets.size(); ++i) clipped_high += buckets[i].mass;
  for (std::size_t i = begin; i < end; ++i) kept += buckets[i].mass;

  double sum = 0.0;
  const auto level = [&](std::size_t i) {
    return std::floor(histogram.middle(buckets[i].index) / e.delta + 0.5);
  };
  for (std::size_t i = begin; i < end;) {
    std::size_t stop = i;
    double mass = 0.0;
    const double here = level(i);
    for (; stop < end && level(stop) == here; ++stop) mass += buckets[stop].mass;
    const double spread = std::max(mass / static_cast<double>(stop - i) / kept, kEmpty);
    for (; i < stop; ++i) {
      double p = buckets[i].mass;
      if (i == begin) p += clipped_low;
      if (i + 1 == end) p += clipped_high;
      sum += p * std::log(p / spread);
    }
  }
  return sum;
}

}  // namespace

AffineEncoding entropy_encoding(const Histogram& histogram, const AffineOptions& options) {
  const double magnitude = std::max(-histogram.min, histogram.max);
  double lowest = std::numeric_limits<double>::infinity();
  AffineEncoding best =
      make_encoding(std::min(histogram.min, 0.0), std::max(histogram.max, 0.0), options);
  // From the widest: on ties (a grid as fine as the buckets loses nothing) the one that clips least
  // stays.
  for (int i = kThresholds; i >= kSmallestThreshold; --i) {
    const double threshold = magnitude * i / kThresholds;
    const double low = std::clamp(histogram.min, -threshold, 0.0);
    const double high = std::clamp(histogram.max, 0.0, threshold);
    const AffineEncoding e = make_encoding(low, high, options);
    const double divergence_here = divergence(histogram, low, high, e);
    if (divergence_here < lowest) {
      lowest = divergence_here;
      best = e;
    }
  }
  return best;
}

}  // namespace bitsweep
