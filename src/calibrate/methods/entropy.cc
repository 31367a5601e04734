#include "calibrate/methods/entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "calibrate/fast_floor.h"

namespace bitsweep {
namespace {

constexpr int kThresholds = 128;
constexpr int kSmallestThreshold = 8;  // of kThresholds: tighter clipping is never a sane answer
constexpr double kEmpty = 1e-12;       // stands for a bucket that the quantized form cannot reach

// KL divergences between the histogram clipped to a range and its form on a grid, in which every
// level spreads its mass evenly over the buckets that hold something. What was clipped is missing
// from that form: scaled up to a whole, a single bucket would match anything clipped into it.
class Divergence {
 public:
  explicit Divergence(const Histogram& histogram) : buckets_(histogram.buckets) {
    middles_.reserve(buckets_.size());
    masses_.reserve(buckets_.size() + 1);
    entropies_.reserve(buckets_.size() + 1);
    masses_.push_back(0.0);
    entropies_.push_back(0.0);
    for (const Histogram::Bucket& bucket : buckets_) {
      middles_.push_back(static_cast<double>(histogram.middle(bucket.index)));
      masses_.push_back(masses_.back() + bucket.mass);
      entropies_.push_back(entropies_.back() + bucket.mass * std::log(bucket.mass));
    }
  }

  double operator()(double low, double high, double delta) const {
    const auto first = std::lower_bound(middles_.begin(), middles_.end(), low);
    const auto last = std::upper_bound(first, middles_.end(), high);
    const auto begin = static_cast<std::size_t>(first - middles_.begin());
    const auto end = static_cast<std::size_t>(last - middles_.begin());
    if (begin == end) return std::numeric_limits<double>::infinity();

    // Sum of p log p, with what is clipped added to the buckets at the ends.
    const double clipped_low = masses_[begin];
    const double clipped_high = masses_.back() - masses_[end];
    double sum = entropies_[end] - entropies_[begin];
    if (begin + 1 == end) {
      sum += change(begin, clipped_low + clipped_high);
    } else {
      sum += change(begin, clipped_low) + change(end - 1, clipped_high);
    }
    // Minus the sum of p log q, level by level.
    const double inverse = 1.0 / delta;
    for (std::size_t i = begin; i < end;) {
      const double level = fast_floor(middles_[i] * inverse + 0.5);
      std::size_t stop = i + 1;
      while (stop < end && fast_floor(middles_[stop] * inverse + 0.5) == level) ++stop;
      const double mass = masses_[stop] - masses_[i];
      double reference_mass = mass;
      if (i == begin) reference_mass += clipped_low;
      if (stop == end) reference_mass += clipped_high;
      sum -= reference_mass * std::log(std::max(mass / static_cast<double>(stop - i), kEmpty));
      i = stop;
    }
    return sum;
  }

 private:
  // By how much p log p of a bucket grows with the mass added.
  double change(std::size_t bucket, double added) const {
    const double before = buckets_[bucket].mass;
    return (before + added) * std::log(before + added) - before * std::log(before);
  }

  const std::vector<Histogram::Bucket>& buckets_;
  std::vector<double> middles_;
  std::vector<double> masses_;     // running sums, one more than buckets
  std::vector<double> entropies_;  // running sums of p log p
};

}  // namespace

AffineEncoding entropy_encoding(const Histogram& histogram, const AffineOptions& options) {
  const double magnitude = std::max(-histogram.min, histogram.max);
  const Divergence divergence(histogram);
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
    const double loss = divergence(low, high, e.delta);
    // Running sums leave rounding errors: less than this is a tie.
    constexpr double kTie = 1e-12;
    if (loss < lowest - kTie) {
      lowest = loss;
      best = e;
    }
  }
  return best;
}

}  // namespace bitsweep
