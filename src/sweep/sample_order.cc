#include "sweep/sample_order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sweep/random.h"

namespace bitsweep::sweeping {
namespace {

// In average weights.
constexpr double kHeavy = 3.0;
// Every group starts on heavy samples, so that more than this part of all would cost too much.
constexpr double kMostHeavy = 1.0 / 12.0;

// How far the score of all samples moves when one of them is left out.
std::vector<double> shares_of(const MetricAccumulator& metric, const SampleSums& sums) {
  const std::size_t n = sums.size();
  std::vector<double> weights(n, 0.0);
  if (n < 2) return weights;
  // Sums of all samples before and behind each one, so that leaving one out takes one step.
  std::vector<std::vector<double>> before;
  std::vector<std::vector<double>> behind(n);
  const auto running = metric.fresh();
  for (const std::vector<double>& sample : sums) {
    before.push_back(running->state());
    running->merge(sample);
  }
  const double whole = running->score();
  const auto backwards = metric.fresh();
  for (std::size_t i = n; i-- > 0;) {
    behind[i] = backwards->state();
    backwards->merge(sums[i]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const auto rest = metric.fresh();
    rest->merge(before[i]);
    rest->merge(behind[i]);
    weights[i] = std::abs(rest->score() - whole);
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight = total > 0.0 ? weight / total : 0.0;
  return weights;
}

}  // namespace

SampleOrder::SampleOrder(const MetricAccumulator& metric, const std::vector<SampleSums>& pilots,
                         std::uint64_t seed)
    : samples_(pilots.front().size()) {
  std::iota(samples_.begin(), samples_.end(), std::size_t{0});
  Random random(seed);
  for (std::size_t i = samples_.size(); i > 1; --i)
    std::swap(samples_[i - 1], samples_[random.below(i)]);
  std::vector<double> weights(samples_.size(), 0.0);
  for (const SampleSums& pilot : pilots) {
    const std::vector<double> shares = shares_of(metric, pilot);
    for (std::size_t s = 0; s < shares.size(); ++s) weights[s] = std::max(weights[s], shares[s]);
  }
  const auto size = static_cast<double>(samples_.size());
  const auto end = std::stable_partition(samples_.begin(), samples_.end(),
                                         [&](std::size_t s) { return weights[s] > kHeavy / size; });
  std::stable_sort(samples_.begin(), end,
                   [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  num_heavy_ = static_cast<std::size_t>(end - samples_.begin());
  num_certain_ = std::min(num_heavy_, static_cast<std::size_t>(std::ceil(kMostHeavy * size)));
}

// A heavy sample would lend its error to many others; it does so only while there are no light
// ones.
std::size_t SampleOrder::first_stand_in(std::size_t num_seen) const {
  constexpr std::size_t kEnough = 2;
  return num_seen >= num_heavy_ + kEnough ? num_heavy_ : num_certain_;
}

std::vector<std::size_t> SampleOrder::stand_ins(std::size_t num_seen) const {
  std::vector<std::size_t> places(num_seen);
  std::iota(places.begin(), places.end(), std::size_t{0});
  const std::size_t first = first_stand_in(num_seen);
  if (num_seen <= first) return places;
  for (std::size_t i = num_seen; i < size(); ++i)
    places.push_back(first + (i - num_seen) % (num_seen - first));
  return places;
}

Draws SampleOrder::possible_sets(std::size_t num_seen, std::uint64_t seed) const {
  std::vector<std::size_t> seen(num_seen);
  std::iota(seen.begin(), seen.end(), std::size_t{0});
  const std::size_t first = first_stand_in(num_seen);
  if (num_seen >= size() || num_seen <= first) return {seen};
  Random random(seed);
  return completed(seen, first, size(), kNumDraws, random);
}

}  // namespace bitsweep::sweeping
