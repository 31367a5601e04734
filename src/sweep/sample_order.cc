#include "sweep/sample_order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sweep/random.h"

namespace bitsweep::sweeping {
namespace {

// How far the score of all samples moves when there is no error on one of them.
std::vector<double> shares_of(const MetricAccumulator& metric, const SampleSums& sums,
                              const SampleSums& quiet) {
  const std::size_t n = sums.size();
  std::vector<double> weights(n, 0.0);
  if (n < 2) return weights;
  // Sums of all samples before and behind each one, so that replacing one takes one step.
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
    rest->merge(quiet[i]);
    rest->merge(behind[i]);
    weights[i] = std::abs(rest->score() - whole);
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight = total > 0.0 ? weight / total : 0.0;
  return weights;
}

}  // namespace

SampleOrder::SampleOrder(const MetricAccumulator& metric, const std::vector<SampleSums>& pilots,
                         const SampleSums& quiet, std::uint64_t seed) {
  std::vector<std::size_t> left(pilots.front().size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  // Among samples of the same weight chance decides, not their place in the source.
  Random random(seed);
  for (std::size_t i = left.size(); i > 1; --i) std::swap(left[i - 1], left[random.below(i)]);
  std::vector<std::vector<double>> shares;
  for (const SampleSums& pilot : pilots) shares.push_back(shares_of(metric, pilot, quiet));
  // An average sample is taken as seen: the logarithm needs a start.
  std::vector<double> seen(pilots.size(), 1.0 / static_cast<double>(left.size()));
  while (!left.empty()) {
    const auto gain = [&](std::size_t sample) {
      double sum = 0.0;
      for (std::size_t p = 0; p < shares.size(); ++p)
        sum += std::log1p(shares[p][sample] / seen[p]);
      return sum;
    };
    const auto best = std::ranges::max_element(left, {}, gain);
    for (std::size_t p = 0; p < shares.size(); ++p) seen[p] += shares[p][*best];
    samples_.push_back(*best);
    left.erase(best);
  }
}

std::vector<std::size_t> SampleOrder::stand_ins(std::size_t num_seen) const {
  std::vector<std::size_t> places(num_seen);
  std::iota(places.begin(), places.end(), std::size_t{0});
  const std::size_t first = num_seen / 2;
  for (std::size_t i = num_seen; i < size() && num_seen > 0; ++i)
    places.push_back(first + (i - num_seen) % (num_seen - first));
  return places;
}

}  // namespace bitsweep::sweeping
