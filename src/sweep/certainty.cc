#include "sweep/certainty.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sweep/random.h"

namespace bitsweep::sweeping {
namespace {

constexpr double kTail = 0.025;

std::vector<std::size_t> all_of(const std::vector<SampleSums>& states) {
  std::vector<std::size_t> positions(states.empty() ? 0 : states.front().size());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  return positions;
}

}  // namespace

Draws resampled(const std::vector<std::size_t>& from, std::uint64_t seed) {
  Random random(seed);
  Draws draws(kNumDraws, std::vector<std::size_t>(from.size()));
  for (std::vector<std::size_t>& draw : draws) {
    for (std::size_t& position : draw) position = from[random.below(from.size())];
  }
  return draws;
}

Bootstrap::Bootstrap(const MetricAccumulator& metric, const std::vector<SampleSums>& states,
                     std::uint64_t seed)
    : Bootstrap(metric, states, resampled(all_of(states), seed)) {}

Bootstrap::Bootstrap(const MetricAccumulator& metric, const std::vector<SampleSums>& states,
                     const Draws& draws)
    : scores_(states.size()) {
  for (const std::vector<std::size_t>& draw : draws) {
    for (std::size_t s = 0; s < states.size(); ++s) {
      const std::unique_ptr<MetricAccumulator> total = metric.fresh();
      for (const std::size_t position : draw) total->merge(states[s][position]);
      scores_[s].push_back(total->score());
    }
  }
}

ScoreInterval Bootstrap::interval(std::size_t state) const {
  std::vector<double> sorted = scores_[state];
  std::sort(sorted.begin(), sorted.end());
  double mean = 0.0;
  for (const double v : sorted) mean += v;
  mean /= static_cast<double>(sorted.size());
  double variance = 0.0;
  for (const double v : sorted)
    variance += (v - mean) * (v - mean) / static_cast<double>(sorted.size() - 1);
  const auto tail = static_cast<std::size_t>(kTail * static_cast<double>(sorted.size()));
  return {.standard_error = std::sqrt(variance),
          .low = sorted[tail],
          .high = sorted[sorted.size() - 1 - tail]};
}

bool Bootstrap::tied(std::size_t a, std::size_t b) const {
  std::size_t ahead = 0;
  std::size_t behind = 0;
  for (std::size_t d = 0; d < scores_[a].size(); ++d) {
    ahead += scores_[a][d] > scores_[b][d] ? 1 : 0;
    behind += scores_[a][d] < scores_[b][d] ? 1 : 0;
  }
  const double limit = (1.0 - kTail) * static_cast<double>(scores_[a].size());
  return static_cast<double>(std::max(ahead, behind)) < limit;
}

}  // namespace bitsweep::sweeping
