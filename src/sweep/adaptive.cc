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

// On either side of the boundary these go on, whatever the work left: the decision needs them.
constexpr std::size_t kAlwaysOpen = 2;
// A move seen elsewhere may be twice as large here.
constexpr double kSafety = 2.0;

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
  if (!(options.work > 0.0 && options.work <= 1.0))
    refuse("the work is " + std::to_string(options.work) + " of that of a whole sweep",
           "give a number above 0, at most 1");
}

double Sensitivity::of(const AnswerRow& row) const { return of(row, row.size()); }

double Sensitivity::of(const AnswerRow& row, std::size_t num_samples, const Answer* more,
                       int times) const {
  const std::unique_ptr<MetricAccumulator> total = metric.accumulator->fresh();
  for (std::size_t place = 0; place < std::min(num_samples, row.size()); ++place) {
    if (row[place]) total->merge((*row[place])[metric.index]);
  }
  for (int i = 0; i < times; ++i) total->merge((*more)[metric.index]);
  return low_first ? -total->score() : total->score();
}

double Sensitivity::above(double a, double b) const {
  if (a == b) return 0.0;
  // Scores in dB and shares of agreement are compared as they are.
  if (metric.better != Better::kLower || a * b <= 0.0) return a - b;
  return low_first ? std::log(b / a) : std::log(a / b);
}

AdaptiveStop::AdaptiveStop(const AdaptiveOptions& options, const Sensitivity& sensitivity,
                           std::vector<double> costs, std::size_t num_samples)
    : options_(options),
      sensitivity_(sensitivity),
      costs_(std::move(costs)),
      num_samples_(num_samples),
      places_left_(static_cast<std::size_t>(
          std::ceil(options.top_fraction * static_cast<double>(costs_.size())))),
      next_samples_(std::min(num_samples, static_cast<std::size_t>(options.first_samples))),
      open_(costs_.size()),
      kept_(costs_.size(), false),
      selected_(costs_.size(), false) {
  std::iota(open_.begin(), open_.end(), std::size_t{0});
}

// Half as many again: what a state has not shown by then, single samples will not show.
std::size_t AdaptiveStop::samples_after(std::size_t num_samples) const {
  return std::min(num_samples_, num_samples + std::max<std::size_t>(2, num_samples / 2));
}

// When constant / n states go on after n samples.
Work AdaptiveStop::work_of_rounds(const std::vector<std::size_t>& nearest_first,
                                  std::size_t constant) const {
  // Each sample is opened once more.
  Work work{.passes = static_cast<double>(num_samples_ - next_samples_)};
  for (std::size_t seen = next_samples_; seen < num_samples_; seen = samples_after(seen)) {
    const std::size_t open =
        std::min(nearest_first.size(), std::max(2 * kAlwaysOpen, constant / seen));
    const auto samples = static_cast<double>(samples_after(seen) - seen);
    for (std::size_t i = 0; i < open; ++i)
      work += samples * Work{.evaluations = 1.0, .passes = costs_[nearest_first[i]]};
  }
  return work;
}

std::size_t AdaptiveStop::num_affordable(const std::vector<std::size_t>& nearest_first,
                                         const WorkBudget& budget) const {
  std::size_t low = 0;
  std::size_t high = nearest_first.size() * num_samples_;
  while (low < high) {
    const std::size_t middle = low + (high - low + 1) / 2;
    if (budget.allows(work_of_rounds(nearest_first, middle))) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return std::min(nearest_first.size(), std::max(2 * kAlwaysOpen, low / next_samples_));
}

void AdaptiveStop::close(std::size_t state, bool inside) {
  selected_[state] = inside;
  if (inside && places_left_ > 0) --places_left_;
}

double AdaptiveStop::bar(const AnswerTable& answers, const Answer& quiet, int more) const {
  const Round& first = rounds_.front();
  if (options_.threshold) return first.boundary;
  return sensitivity_.of(answers[last_inside_], first.num_samples, &quiet, more);
}

void AdaptiveStop::settle(const AnswerTable& answers, const WorkBudget& budget) {
  std::vector<double> found(answers.size());
  for (const std::size_t state : open_) found[state] = sensitivity_.of(answers[state]);
  std::vector<std::size_t> order = open_;
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t state) { return found[state]; });
  std::size_t num_inside = std::min(places_left_, order.size());
  double boundary = 0.0;
  if (options_.threshold) {
    boundary = sensitivity_.low_first ? -*options_.threshold : *options_.threshold;
    num_inside = static_cast<std::size_t>(
        std::ranges::count_if(order, [&](std::size_t state) { return found[state] > boundary; }));
  } else if (!order.empty()) {
    // Between the last one inside and the first one outside.
    const double last = found[order[num_inside > 0 ? num_inside - 1 : 0]];
    const double next = found[order[std::min(num_inside, order.size() - 1)]];
    boundary = last + (next - last) / 2.0;
    if (rounds_.empty() && num_inside > 0) last_inside_ = order[num_inside - 1];
  }
  const auto distance = [&](std::size_t state) {
    return std::abs(sensitivity_.above(found[state], boundary));
  };
  std::vector<bool> inside(answers.size(), false);
  for (std::size_t i = 0; i < num_inside; ++i) inside[order[i]] = true;
  Round round{.num_samples = next_samples_,
              .boundary = boundary,
              .nearest = std::numeric_limits<double>::infinity()};
  std::size_t num_open = 0;
  if (next_samples_ < num_samples_) {
    std::ranges::stable_sort(
        order, {}, [&](std::size_t state) { return kept_[state] ? 0.0 : distance(state); });
    num_open = std::max(num_affordable(order, budget),
                        static_cast<std::size_t>(std::ranges::count(kept_, true)));
    num_open = std::min(num_open, order.size());
  } else {
    finalists_ = open_;
  }
  for (std::size_t i = num_open; i < order.size(); ++i) {
    const std::size_t state = order[i];
    round.nearest = std::min(round.nearest, distance(state));
    close(state, inside[state]);
    if (rounds_.empty() && !inside[state]) closed_first_.push_back(state);
  }
  order.resize(num_open);
  std::ranges::sort(order);
  std::ranges::sort(closed_first_);
  open_ = std::move(order);
  rounds_.push_back(round);
  next_samples_ = samples_after(next_samples_);
}

double AdaptiveStop::confidence(const AnswerTable& answers, std::vector<std::size_t> whole) const {
  whole.insert(whole.end(), finalists_.begin(), finalists_.end());
  double confidence = 1.0;
  for (const Round& round : rounds_) {
    if (round.num_samples == num_samples_) continue;
    const auto moved = [&](std::size_t state) {
      const AnswerRow& row = answers[state];
      const double then =
          sensitivity_.above(sensitivity_.of(row, round.num_samples), round.boundary);
      return std::abs(sensitivity_.above(sensitivity_.of(row), rounds_.back().boundary) - then);
    };
    const auto stayed = std::ranges::count_if(
        whole, [&](std::size_t state) { return kSafety * moved(state) < round.nearest; });
    confidence =
        std::min(confidence, static_cast<double>(stayed) /
                                 static_cast<double>(std::max<std::size_t>(1, whole.size())));
  }
  return confidence;
}

}  // namespace bitsweep::sweeping
