#include "calibrate/methods/mse.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "calibrate/fast_floor.h"

namespace bitsweep {
namespace {

constexpr int kFactors = 100;  // a bound of the range is tried at 1 %, 2 %, ... of the data's bound
constexpr int kRounds = 2;     // of moving one bound at a time

class Search {
 public:
  Search(const Histogram& histogram, const AffineOptions& options)
      : histogram_(histogram), options_(options) {
    middles_.reserve(histogram.buckets.size());
    for (const Histogram::Bucket& bucket : histogram.buckets)
      middles_.push_back(histogram.middle(bucket.index));
  }

  // Tries the range of these percentages of the data's bounds. The first one wins on ties, so
  // callers begin at 100.
  void consider(int low_percent, int high_percent) {
    // Zero is in every range: data on one side of it has a single bound to try.
    const double low = std::min(histogram_.min, 0.0) * low_percent / kFactors;
    const double high = std::max(histogram_.max, 0.0) * high_percent / kFactors;
    const AffineEncoding e = make_encoding(low, high, options_);
    const double cost = this->cost(e);
    if (cost < lowest_) {
      lowest_ = cost;
      best_ = e;
      low_percent_ = low_percent;
      high_percent_ = high_percent;
    }
  }

  int low_percent() const { return low_percent_; }
  int high_percent() const { return high_percent_; }
  const AffineEncoding& best() const { return best_; }

 private:
  double cost(const AffineEncoding& e) const {
    double sum = 0.0;
    // Steps finer than a bucket: the values in it are spread over many steps, with an error of
    // step^2 / 12 on average.
    const bool fine = e.delta <= histogram_.width;
    const double fine_error = e.delta * e.delta / 12.0;
    const double inverse = 1.0 / e.delta;
    for (std::size_t i = 0; i < middles_.size(); ++i) {
      const auto x = static_cast<double>(middles_[i]);
      double error = 0.0;
      if (x < e.min) {
        error = (e.min - x) * (e.min - x);
      } else if (x > e.max) {
        error = (x - e.max) * (x - e.max);
      } else if (fine) {
        error = fine_error;
      } else {
        const double distance = x - e.delta * (fast_floor(x * inverse - e.offset + 0.5) + e.offset);
        error = distance * distance;
      }
      sum += histogram_.buckets[i].mass * error;
    }
    return sum;
  }

  const Histogram& histogram_;
  const AffineOptions& options_;
  std::vector<float> middles_;
  double lowest_ = std::numeric_limits<double>::infinity();
  AffineEncoding best_;
  int low_percent_ = kFactors;
  int high_percent_ = kFactors;
};

}  // namespace

AffineEncoding mse_encoding(const Histogram& histogram, const AffineOptions& options) {
  Search search(histogram, options);
  for (int percent = kFactors; percent > 0; --percent) search.consider(percent, percent);
  if (!options.symmetric) {
    for (int round = 0; round < kRounds; ++round) {
      const int high = search.high_percent();
      for (int percent = kFactors; percent > 0; --percent) search.consider(percent, high);
      const int low = search.low_percent();
      for (int percent = kFactors; percent > 0; --percent) search.consider(low, percent);
    }
  }
  return search.best();
}

}  // namespace bitsweep
