#include "calibrate/methods/tf_enhanced.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "calibrate/fast_floor.h"

namespace bitsweep {
namespace {

constexpr double kSaturationWeight = 3.0;
constexpr float kNarrowest = 0.01F;

struct Grid {
  float delta = 0.0F;
  int offset = 0;
};

// The reference keeps offsets in 32-bit integers. Those of a 32-bit grid may be lower, and the
// quotient of two infinities is none: both become the lowest integer, as its CPU has it.
int whole(float offset) {
  constexpr auto kLowest = static_cast<float>(std::numeric_limits<int>::min());
  return offset >= kLowest ? static_cast<int>(offset) : std::numeric_limits<int>::min();
}

// Costs of many grids over one histogram; the best is kept, the first one on ties.
class Search {
 public:
  Search(const Histogram& histogram, int bitwidth)
      : histogram_(histogram), codes_(std::ldexp(1.0, bitwidth) - 1.0) {
    middles_.reserve(histogram.buckets.size());
    for (const Histogram::Bucket& bucket : histogram.buckets)
      middles_.push_back(histogram.middle(bucket.index));
  }

  void consider(const Grid& grid) {
    const double cost = this->cost(grid);
    if (cost < lowest_) {
      lowest_ = cost;
      best_ = grid;
    }
  }

  const Grid& best() const { return best_; }

 private:
  // Number of buckets below the one of `index`.
  std::size_t below(std::int64_t index) const {
    const auto& buckets = histogram_.buckets;
    const auto it =
        std::lower_bound(buckets.begin(), buckets.end(), index,
                         [](const Histogram::Bucket& b, std::int64_t i) { return b.index < i; });
    return static_cast<std::size_t>(it - buckets.begin());
  }

  double outside(std::size_t begin, std::size_t end, double edge) const {
    double sum = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      const double distance = static_cast<double>(middles_[i]) - edge;
      sum += histogram_.buckets[i].mass * distance * distance;
    }
    return sum;
  }

  // Where one end of a grid lies in the histogram: how many buckets are below it, and the value to
  // which those beyond it saturate, the middle of the grid's last bucket. A grid wholly on one side
  // of the histogram saturates at its own end; the reference takes the nearest bucket there too, so
  // that a grid far away from all values seems nearly free.
  struct End {
    std::size_t buckets_below;
    double saturated;
  };
  End lower_end(double grid_min) const {
    const std::int64_t bucket = histogram_.clamped_index(grid_min);
    if (grid_min > histogram_.left(bucket) + histogram_.width) return {middles_.size(), grid_min};
    return {below(bucket), static_cast<double>(histogram_.middle(bucket))};
  }
  End upper_end(double grid_max) const {
    const std::int64_t bucket = histogram_.clamped_index(grid_max);
    if (grid_max < histogram_.left(bucket)) return {0, grid_max};
    return {below(bucket), static_cast<double>(histogram_.middle(bucket))};
  }

  double cost(const Grid& grid) const {
    const auto delta = static_cast<double>(grid.delta);
    const auto offset = static_cast<double>(grid.offset);
    const End low = lower_end(delta * offset);
    const End high = upper_end(delta * (offset + codes_));
    const std::size_t begin = low.buckets_below;
    const std::size_t end = std::max(begin, high.buckets_below);
    double inside = 0.0;
    const float inverse = 1.0F / grid.delta;
    for (std::size_t i = begin; i < end; ++i) {
      const float rounded = grid.delta * fast_floor(middles_[i] * inverse + 0.5F);
      const double error = static_cast<double>(middles_[i]) - static_cast<double>(rounded);
      inside += histogram_.buckets[i].mass * error * error;
    }
    const double saturated =
        outside(0, begin, low.saturated) + outside(end, middles_.size(), high.saturated);
    return kSaturationWeight * saturated + inside;
  }

  const Histogram& histogram_;
  double codes_;
  std::vector<float> middles_;
  double lowest_ = std::numeric_limits<double>::infinity();
  Grid best_;
};

void consider_symmetric(Search& search, float min, float max, float steps, bool from_zero) {
  const float magnitude = std::max(std::abs(min), std::abs(max));
  const float largest = from_zero ? max / steps : magnitude / (steps * 0.5F);
  const int offset = from_zero ? 0 : whole(std::floor(-steps / 2.0F));
  // Sums of 0.01, rounded to float32 each time as in the reference: the last factor is 1.0099994.
  constexpr double kStep = 0.01;
  constexpr double kLast = 1.01;
  for (double factor = kStep; factor <= kLast; factor += kStep) {
    const auto rounded = static_cast<float>(factor);
    search.consider({rounded * largest, offset});
    factor = static_cast<double>(rounded);
  }
}

// The quotient is taken in double: near the ends of float32 the difference overflows.
float step_of(float min, float max, float steps) {
  return static_cast<float>((static_cast<double>(max) - static_cast<double>(min)) /
                            static_cast<double>(steps));
}

void consider_asymmetric(Search& search, float min, float max, float steps) {
  const float full_delta = step_of(min, max, steps);
  const int full_offset = whole(std::round(min / full_delta));
  const float seen_min = full_delta * static_cast<float>(full_offset);
  const float seen_max = full_delta * (static_cast<float>(full_offset) + steps);
  constexpr int kDeltas = 17;
  constexpr int kOffsets = 20;
  for (int j = 1; j <= kDeltas; ++j) {
    for (int i = 0; i <= kOffsets; ++i) {
      const float offset =
          std::trunc(-steps + steps / static_cast<float>(kOffsets) * static_cast<float>(i));
      const float delta = 0.0625F * static_cast<float>(j) * full_delta;
      float test_min = delta * offset;
      float test_max = delta * (offset + steps);
      if (test_min < seen_min && test_max > seen_max) continue;
      test_min = std::max(test_min, seen_min);
      test_max = std::min(test_max, seen_max);
      if (test_min >= test_max) continue;
      const float test_delta = step_of(test_min, test_max, steps);
      search.consider({test_delta, whole(std::round(test_min / test_delta))});
    }
  }
  search.consider({full_delta, full_offset});
}

}  // namespace

AffineEncoding tf_enhanced_encoding(const Histogram& histogram, const AffineOptions& options) {
  double steps = std::ldexp(1.0, options.bitwidth) - 1.0;
  if (options.symmetric && options.strict_symmetric) steps -= 1.0;
  const float min = std::min(static_cast<float>(histogram.min), 0.0F);
  const float max = std::max({static_cast<float>(histogram.max), 0.0F, min + kNarrowest});

  Search search(histogram, options.bitwidth);
  if (options.symmetric) {
    consider_symmetric(search, min, max, static_cast<float>(steps),
                       min == 0.0F && options.unsigned_symmetric);
  } else {
    consider_asymmetric(search, min, max, static_cast<float>(steps));
  }
  AffineEncoding e;
  e.delta = static_cast<double>(search.best().delta);
  e.offset = static_cast<double>(search.best().offset);
  e.min = e.delta * e.offset;
  e.max = e.delta * (e.offset + steps);
  return e;
}

}  // namespace bitsweep
