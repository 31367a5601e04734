#include "allocate/mix/telling_samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "allocate/mix/quality.h"

namespace bitsweep::allocate {
namespace {

/// Shares of the samples in the noise of a configuration, from its quality without each of them.
std::vector<double> shares_of_noise(const MeasuredMix& mix) {
  const double others = 1.0 - 1.0 / static_cast<double>(mix.without_db.size());
  std::vector<double> shares;
  for (const double db : mix.without_db)
    shares.push_back(std::max(0.0, 1.0 - others * loss_of_db(db) / loss_of_db(mix.db)));
  return shares;
}

}  // namespace

std::vector<std::int64_t> telling_samples(const std::vector<MeasuredMix>& configurations) {
  constexpr std::size_t kFewest = 2;  // how far samples agree has to be seen
  if (configurations.empty()) return {};
  std::vector<double> shares(configurations.front().without_db.size(), 0.0);
  for (const MeasuredMix& mix : configurations) {
    const std::vector<double> of_mix = shares_of_noise(mix);
    for (std::size_t i = 0; i < shares.size(); ++i) shares[i] += of_mix[i];
  }
  std::vector<std::int64_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto share = [&](std::int64_t i) { return shares[static_cast<std::size_t>(i)]; };
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return std::pair(-share(a), a) < std::pair(-share(b), b);
  });
  const double half = std::accumulate(shares.begin(), shares.end(), 0.0) / 2.0;
  double sum = 0.0;
  std::size_t count = 0;
  while (count < order.size() && (count < kFewest || sum < half)) sum += share(order[count++]);
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

bool SomeSamples::next(Feed* feed) {
  if (num_given_ == positions_.size()) return false;
  while (source_.next(feed)) {
    if (num_read_++ != positions_[num_given_]) continue;
    ++num_given_;
    return true;
  }
  return false;
}

void SomeSamples::rewind() {
  source_.rewind();
  num_given_ = 0;
  num_read_ = 0;
}

}  // namespace bitsweep::allocate
