#include "sweep/adaptive.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "bitsweep/error.h"

namespace bitsweep::sweeping {
namespace {

// Below this many samples the draws repeat so few of them that they look surer than they are: all
// draws have to agree.
constexpr std::size_t kFewSamples = 12;

}  // namespace

void check_adaptive_options(const AdaptiveOptions& options) {
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
}

AdaptiveStop::AdaptiveStop(const AdaptiveOptions& options, std::size_t num_states, bool low_first,
                           std::uint64_t seed, const SampleOrder& order)
    : options_(options),
      low_first_(low_first),
      seed_(seed),
      order_(order),
      places_left_(static_cast<std::size_t>(
          std::ceil(options.top_fraction * static_cast<double>(num_states)))),
      next_samples_(std::min(
          order.size(), order.num_certain() + static_cast<std::size_t>(options.first_samples))),
      open_(num_states),
      selected_(num_states, false) {
  std::iota(open_.begin(), open_.end(), std::size_t{0});
}

// How often each open state belongs to the selection.
std::vector<double> AdaptiveStop::membership(const Bootstrap& bootstrap) const {
  std::vector<double> share(open_.size(), 0.0);
  const auto worse = [&](double a, double b) { return low_first_ ? a < b : a > b; };
  std::vector<std::size_t> order(open_.size());
  for (std::size_t d = 0; d < bootstrap.num_draws(); ++d) {
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
  for (double& s : share) s /= static_cast<double>(bootstrap.num_draws());
  return share;
}

void AdaptiveStop::settle(const AnswerTable& answers, const ScoredMetric& metric,
                          std::size_t num_samples) {
  std::vector<SampleSums> sums;
  for (const std::size_t state : open_) {
    SampleSums& own = sums.emplace_back();
    for (std::size_t i = 0; i < num_samples; ++i) own.push_back((*answers[state][i])[metric.index]);
  }
  const bool all_seen = num_samples == order_.size();
  const std::vector<double> share =
      membership(Bootstrap(*metric.accumulator, sums, order_.possible_sets(num_samples, seed_)));
  // With all samples seen, what is left open is whether others would say the same.
  const std::vector<double> elsewhere =
      all_seen ? membership(Bootstrap(*metric.accumulator, sums, seed_)) : share;
  const double wanted =
      num_samples - order_.num_certain() < kFewSamples ? 1.0 : options_.confidence;
  std::vector<std::size_t> still_open;
  std::size_t taken = 0;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    const bool inside = share[i] > 0.5;
    if (!all_seen && std::max(share[i], 1.0 - share[i]) < wanted) {
      still_open.push_back(open_[i]);
      continue;
    }
    const double certainty = inside ? elsewhere[i] : 1.0 - elsewhere[i];
    confidence_ = std::min(confidence_, certainty);
    settled_ = settled_ && certainty >= options_.confidence;
    selected_[open_[i]] = inside;
    taken += inside ? 1 : 0;
  }
  places_left_ -= std::min(places_left_, taken);
  open_ = std::move(still_open);
  // Half as many again: the spread falls with the root, so smaller steps would settle little.
  const std::size_t others = num_samples - order_.num_certain();
  next_samples_ = std::min(order_.size(), num_samples + std::max<std::size_t>(2, others / 2));
}

}  // namespace bitsweep::sweeping
