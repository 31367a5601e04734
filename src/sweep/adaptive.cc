#include "sweep/adaptive.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bitsweep/error.h"
#include "sweep/certainty.h"

namespace bitsweep::sweeping {
namespace {

// Below this many samples the draws repeat so few of them that they look surer than they are: all
// of them have to agree.
constexpr std::size_t kFewSamples = 8;

}  // namespace

AdaptiveStop::AdaptiveStop(const AdaptiveOptions& options, std::size_t num_states, bool low_first,
                           std::uint64_t seed)
    : options_(options),
      low_first_(low_first),
      seed_(seed),
      next_samples_(options.first_samples),
      selected_(num_states, false) {
  const auto refuse = [](const std::string& what, const std::string& fix) {
    throw Error(ErrorCode::kInvalidArgument, "sweep", what, fix);
  };
  if (options.first_samples < 2)
    refuse(
        "an adaptive sweep cannot start on " + std::to_string(options.first_samples) + " samples",
        "give at least 2");
  if (!(options.confidence > 0.5 && options.confidence < 1.0))
    refuse("the confidence is " + std::to_string(options.confidence),
           "give a number between 0.5 and 1");
  if (!(options.top_fraction > 0.0 && options.top_fraction <= 1.0))
    refuse("the most sensitive part is " + std::to_string(options.top_fraction) + " of the groups",
           "give a number above 0, at most 1");
  places_left_ =
      static_cast<std::size_t>(std::ceil(options.top_fraction * static_cast<double>(num_states)));
  open_.resize(num_states);
  std::iota(open_.begin(), open_.end(), std::size_t{0});
}

// How often each open state belongs to the selection when the samples are drawn anew.
std::vector<double> AdaptiveStop::membership(const AnswerTable& answers, const ScoredMetric& metric,
                                             std::size_t num_samples) const {
  std::vector<SampleSums> sums;
  for (const std::size_t state : open_) {
    SampleSums& own = sums.emplace_back();
    for (std::size_t i = 0; i < num_samples; ++i) own.push_back((*answers[state][i])[metric.index]);
  }
  const Bootstrap bootstrap(*metric.accumulator, sums, seed_);
  std::vector<double> share(open_.size(), 0.0);
  const std::size_t num_draws = bootstrap.num_draws();
  std::vector<std::size_t> order(open_.size());
  for (std::size_t d = 0; d < num_draws; ++d) {
    const auto worse = [&](double a, double b) { return low_first_ ? a < b : a > b; };
    if (options_.threshold) {
      for (std::size_t s = 0; s < open_.size(); ++s)
        share[s] += worse(bootstrap.score(s, d), *options_.threshold) ? 1.0 : 0.0;
      continue;
    }
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return worse(bootstrap.score(a, d), bootstrap.score(b, d));
    });
    for (std::size_t i = 0; i < std::min(places_left_, order.size()); ++i) share[order[i]] += 1.0;
  }
  for (double& s : share) s /= static_cast<double>(num_draws);
  return share;
}

void AdaptiveStop::settle(const AnswerTable& answers, const ScoredMetric& metric,
                          std::size_t num_samples) {
  membership_ = membership(answers, metric, num_samples);
  std::vector<std::size_t> still_open;
  std::vector<double> still_membership;
  std::size_t taken = 0;
  const double wanted = num_samples < kFewSamples ? 1.0 : options_.confidence;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    const double certainty = std::max(membership_[i], 1.0 - membership_[i]);
    if (certainty < wanted) {
      still_open.push_back(open_[i]);
      still_membership.push_back(membership_[i]);
      continue;
    }
    confidence_ = std::min(confidence_, certainty);
    selected_[open_[i]] = membership_[i] > 0.5;
    taken += selected_[open_[i]] ? 1 : 0;
  }
  places_left_ -= std::min(places_left_, taken);
  open_ = std::move(still_open);
  membership_ = std::move(still_membership);
  // Half as many again: the spread falls with the root, so smaller steps would settle little.
  next_samples_ =
      static_cast<std::int64_t>(num_samples + std::max<std::size_t>(2, num_samples / 2));
}

void AdaptiveStop::finish() {
  if (open_.empty()) return;
  settled_ = false;
  std::vector<std::size_t> order(open_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return membership_[a] > membership_[b]; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double share = membership_[order[i]];
    selected_[open_[order[i]]] = options_.threshold ? share > 0.5 : i < places_left_;
    confidence_ = std::min(confidence_, std::max(share, 1.0 - share));
  }
  open_.clear();
}

}  // namespace bitsweep::sweeping
