#include "sweep/certainty.h"

#include <algorithm>
#include <cmath>

namespace bitsweep::sweeping {
namespace {

// Percentiles of 2.5% need a few draws beyond them; more draws only steady the last digit.
constexpr std::size_t kNumDraws = 200;
constexpr double kTail = 0.025;

/// SplitMix64 (Steele et al. 2014): the same draws on every platform, which std distributions do
/// not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t n) {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return static_cast<std::size_t>((z ^ (z >> 31)) % n);
  }

 private:
  std::uint64_t state_;
};

}  // namespace

Bootstrap::Bootstrap(const MetricAccumulator& metric, const std::vector<SampleSums>& states,
                     std::uint64_t seed)
    : scores_(states.size()) {
  const std::size_t num_samples = states.empty() ? 0 : states.front().size();
  Random random(seed);
  std::vector<std::size_t> draw(num_samples);
  for (std::size_t d = 0; d < kNumDraws; ++d) {
    for (std::size_t& sample : draw) sample = random.below(num_samples);
    for (std::size_t s = 0; s < states.size(); ++s) {
      const std::unique_ptr<MetricAccumulator> total = metric.fresh();
      for (const std::size_t sample : draw) total->merge(states[s][sample]);
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
