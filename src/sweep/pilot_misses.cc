#include "sweep/pilot_misses.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "sweep/random.h"

namespace bitsweep::sweeping {
namespace {

// Estimates that are compared with the truth, over all pilots; at least this many.
constexpr std::size_t kNumEstimates = 64;
// A standard deviation from 50 draws is right to 10%.
constexpr std::size_t kDrawsOfEstimate = 50;

// In standard deviations of the draws.
double miss_of(const Bootstrap& bootstrap, std::size_t state, double truth) {
  const auto num_draws = static_cast<double>(bootstrap.num_draws());
  double mean = 0.0;
  for (std::size_t d = 0; d < bootstrap.num_draws(); ++d)
    mean += bootstrap.score(state, d) / num_draws;
  double variance = 0.0;
  for (std::size_t d = 0; d < bootstrap.num_draws(); ++d)
    variance += std::pow(bootstrap.score(state, d) - mean, 2) / num_draws;
  const double miss = std::abs(mean - truth);
  // Sums in another order differ in the last bits.
  if (miss <= 1e-9 * std::abs(truth)) return 0.0;
  return variance > 0.0 ? miss / std::sqrt(variance) : std::numeric_limits<double>::infinity();
}

}  // namespace

PilotMisses::PilotMisses(const MetricAccumulator& metric, const std::vector<SampleSums>& pilots,
                         const SampleOrder& order, std::uint64_t seed)
    : metric_(metric), num_certain_(order.num_certain()), seed_(seed) {
  for (const SampleSums& pilot : pilots) {
    SampleSums& own = pilots_.emplace_back();
    for (std::size_t place = 0; place < order.size(); ++place)
      own.push_back(pilot[order.sample(place)]);
  }
}

const std::vector<double>& PilotMisses::misses(std::size_t num_samples) const {
  if (num_samples == num_samples_) return misses_;
  num_samples_ = num_samples;
  misses_.clear();
  std::vector<std::size_t> places(pilots_.front().size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  const Bootstrap truth(metric_, pilots_, Draws{places});
  Random random(seed_);
  while (misses_.size() < kNumEstimates) {
    for (std::size_t i = places.size(); i > num_certain_ + 1; --i)
      std::swap(places[i - 1], places[num_certain_ + random.below(i - num_certain_)]);
    const std::vector<std::size_t> seen(places.begin(),
                                        places.begin() + static_cast<std::ptrdiff_t>(num_samples));
    const Bootstrap estimate(
        metric_, pilots_, completed(seen, num_certain_, places.size(), kDrawsOfEstimate, random));
    for (std::size_t p = 0; p < pilots_.size(); ++p)
      misses_.push_back(miss_of(estimate, p, truth.score(p, 0)));
  }
  return misses_;
}

double PilotMisses::coverage(std::size_t num_samples, double gap) const {
  const std::vector<double>& all = misses(num_samples);
  const auto below = std::ranges::count_if(all, [&](double miss) { return miss < gap; });
  return static_cast<double>(below) / static_cast<double>(all.size());
}

}  // namespace bitsweep::sweeping
