#include "sweep/adaptive.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "bitsweep/error.h"

namespace bitsweep::sweeping {
namespace {

// Below this many samples the draws repeat so few of them that they look surer than they are: all
// draws have to agree.
constexpr std::size_t kFewSamples = 12;
// And the mean of the draws has to be as many standard deviations away from the boundary.
constexpr double kClearGap = 3.0;
// Of all states, on either side of the boundary: these run on all samples. Neighbours that differ
// by a tenth of a dB are where few samples may all agree and be wrong.
constexpr double kNearest = 0.02;
// Of all samples: every group sees as many random ones, where there are more than the options say.
// With many samples the work leaves room for it.
constexpr double kFirstPart = 0.07;

std::size_t num_first_samples(const AdaptiveOptions& options, const SampleOrder& order) {
  const auto part =
      static_cast<std::size_t>(std::ceil(kFirstPart * static_cast<double>(order.size())));
  return std::min(
      order.size(),
      order.num_certain() + std::max(part, static_cast<std::size_t>(options.first_samples)));
}

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
                           std::uint64_t seed, const SampleOrder& order, const PilotMisses& misses)
    : options_(options),
      low_first_(low_first),
      seed_(seed),
      order_(order),
      misses_(misses),
      num_nearest_(static_cast<std::size_t>(std::ceil(kNearest * static_cast<double>(num_states)))),
      places_left_(static_cast<std::size_t>(
          std::ceil(options.top_fraction * static_cast<double>(num_states)))),
      next_samples_(num_first_samples(options, order)),
      open_(num_states),
      selected_(num_states, false) {
  std::iota(open_.begin(), open_.end(), std::size_t{0});
}

double AdaptiveStop::Place::gap_in_spreads() const {
  if (spread > 0.0) return std::abs(gap) / spread;
  return gap == 0.0 ? 0.0 : std::numeric_limits<double>::infinity();
}

std::vector<AdaptiveStop::Place> AdaptiveStop::places(const Bootstrap& bootstrap) const {
  std::vector<Place> places(open_.size());
  std::vector<std::size_t> order(open_.size());
  for (std::size_t d = 0; d < bootstrap.num_draws(); ++d) {
    // As if a high score were bad.
    const auto badness = [&](std::size_t s) {
      return low_first_ ? -bootstrap.score(s, d) : bootstrap.score(s, d);
    };
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return badness(a) > badness(b); });
    double boundary = 0.0;
    std::size_t num_inside = std::min(places_left_, order.size());
    if (options_.threshold) {
      boundary = low_first_ ? -*options_.threshold : *options_.threshold;
      num_inside = static_cast<std::size_t>(std::count_if(
          order.begin(), order.end(), [&](std::size_t s) { return badness(s) > boundary; }));
    } else {
      // Between the last one inside and the first one outside.
      const double last = badness(order[num_inside > 0 ? num_inside - 1 : 0]);
      const double next = badness(order[std::min(num_inside, order.size() - 1)]);
      boundary = last + (next - last) / 2.0;
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      Place& place = places[order[i]];
      const double gap = badness(order[i]) - boundary;
      place.share += i < num_inside ? 1.0 : 0.0;
      place.rank += static_cast<double>(i);
      place.gap += gap;
      place.spread += gap * gap;
    }
  }
  const auto num_draws = static_cast<double>(bootstrap.num_draws());
  for (Place& place : places) {
    place.share /= num_draws;
    place.rank /= num_draws;
    place.gap /= num_draws;
    place.spread = std::sqrt(std::max(0.0, place.spread / num_draws - place.gap * place.gap));
  }
  return places;
}

std::vector<bool> AdaptiveStop::nearest_to_boundary(const std::vector<Place>& places) const {
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return places[a].rank < places[b].rank; });
  const auto boundary = static_cast<std::size_t>(
      std::ranges::count_if(places, [](const Place& p) { return p.inside(); }));
  std::vector<bool> nearest(places.size(), false);
  for (std::size_t i = boundary - std::min(boundary, num_nearest_);
       i < std::min(order.size(), boundary + num_nearest_); ++i)
    nearest[order[i]] = true;
  return nearest;
}

void AdaptiveStop::settle(const AnswerTable& answers, const ScoredMetric& metric,
                          std::size_t num_samples) {
  std::vector<SampleSums> sums;
  for (const std::size_t state : open_) {
    SampleSums& own = sums.emplace_back();
    for (std::size_t i = 0; i < num_samples; ++i) own.push_back((*answers[state][i])[metric.index]);
  }
  const bool all_seen = num_samples == order_.size();
  const std::vector<Place> found =
      places(Bootstrap(*metric.accumulator, sums, order_.possible_sets(num_samples, seed_)));
  // With all samples seen, what is left open is whether others would say the same.
  const std::vector<Place> elsewhere =
      all_seen ? places(Bootstrap(*metric.accumulator, sums, seed_)) : found;
  const std::vector<bool> nearest = nearest_to_boundary(found);
  const double wanted =
      num_samples - order_.num_certain() < kFewSamples ? 1.0 : options_.confidence;
  const auto is_clear = [&](const Place& place) {
    return std::max(place.share, 1.0 - place.share) >= wanted &&
           std::abs(place.gap) >= kClearGap * place.spread;
  };
  std::vector<std::size_t> still_open;
  std::size_t taken = 0;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (!all_seen && (nearest[i] || !is_clear(found[i]))) {
      still_open.push_back(open_[i]);
      continue;
    }
    const bool inside = found[i].inside();
    double certainty = inside ? elsewhere[i].share : 1.0 - elsewhere[i].share;
    if (!all_seen)
      certainty = std::min(certainty, misses_.coverage(num_samples, found[i].gap_in_spreads()));
    confidence_ = std::min(confidence_, certainty);
    settled_ = settled_ && certainty >= options_.confidence;
    selected_[open_[i]] = inside;
    taken += inside ? 1 : 0;
  }
  places_left_ -= std::min(places_left_, taken);
  open_ = std::move(still_open);
  // Half as many again: the spread falls with the root, so smaller steps would settle little. Where
  // only those next to the boundary are left, nothing more can be settled before the end.
  const std::size_t others = num_samples - order_.num_certain();
  next_samples_ = open_.size() <= 2 * num_nearest_
                      ? order_.size()
                      : std::min(order_.size(), num_samples + std::max<std::size_t>(2, others / 2));
}

}  // namespace bitsweep::sweeping
