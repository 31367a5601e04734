#include "sweep/adaptive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "bitsweep/error.h"

namespace bitsweep::sweeping {
namespace {

/// States with scores around `means` (mse: sums are error and count), `num_samples` each.
AnswerTable noisy(const std::vector<double>& means, std::size_t num_samples, double spread) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0.0, spread);
  const auto metric = make_metric("mse");
  AnswerTable answers(means.size());
  for (std::size_t s = 0; s < means.size(); ++s) {
    for (std::size_t i = 0; i < num_samples; ++i)
      answers[s].push_back(Answer{{1.0, 0.0, std::abs(means[s] + noise(random)), 1.0}});
  }
  return answers;
}

/// A pilot with every error the same: it leaves the samples in random order.
SampleSums plain_pilot(std::size_t num_samples) { return {num_samples, {1.0, 0.0, 1.0, 1.0}}; }

struct Decision {
  std::unique_ptr<MetricAccumulator> metric = make_metric("mse");
  SampleOrder order;
  PilotMisses misses;
  AdaptiveStop stop;
  std::size_t evaluations = 0;

  Decision(const AnswerTable& answers, const AdaptiveOptions& options)
      : Decision(answers, options, plain_pilot(answers[0].size())) {}
  Decision(const AnswerTable& answers, const AdaptiveOptions& options, const SampleSums& pilot)
      : order(*metric, {pilot}, 0),
        misses(*metric, {pilot}, order, 0),
        stop(options, answers.size(), false, 0, order, misses) {
    const ScoredMetric scored{.accumulator = metric.get(), .better = Better::kLower};
    std::size_t seen = 0;
    while (!stop.open().empty()) {
      const std::size_t next = stop.next_samples();
      evaluations += (next - seen) * stop.open().size();
      seen = next;
      stop.settle(answers, scored, seen);
    }
  }
};

TEST(AdaptiveStop, FindsTheTopWithFewSamplesWhereItIsClear) {
  const AnswerTable answers = noisy({1, 2, 9, 1.5, 0.5, 8, 1, 1, 2, 1}, 64, 0.3);
  const Decision run(answers, {.top_fraction = 0.2});
  EXPECT_TRUE(run.stop.settled());
  EXPECT_TRUE(run.stop.selected(2) && run.stop.selected(5));
  EXPECT_FALSE(run.stop.selected(1));
  EXPECT_GE(run.stop.confidence(), 0.975);
  // Five samples for all ten, and all of them for the two next to the boundary.
  EXPECT_EQ(run.evaluations, 5U * 10 + 59 * 2);
}

TEST(AdaptiveStop, SpendsItsSamplesOnTheCloseOnes) {
  const AnswerTable answers = noisy({1, 9, 3.0, 3.02, 1, 1, 1, 1, 1, 1}, 400, 0.5);
  const Decision run(answers, {.top_fraction = 0.2});
  EXPECT_TRUE(run.stop.selected(1));
  EXPECT_LT(run.evaluations, 1200U);
  EXPECT_GT(run.evaluations, 60U);
}

TEST(AdaptiveStop, SaysWhenTheSamplesDoNotDecide) {
  const AnswerTable answers = noisy({2, 2, 2, 2}, 6, 0.5);
  const Decision run(answers, {.top_fraction = 0.5});
  EXPECT_FALSE(run.stop.settled());
  EXPECT_LT(run.stop.confidence(), 0.975);
  int selected = 0;
  for (std::size_t s = 0; s < 4; ++s) selected += run.stop.selected(s) ? 1 : 0;
  EXPECT_EQ(selected, 2);
}

TEST(AdaptiveStop, SelectsWhatAllSamplesWouldSelect) {
  const AnswerTable answers = noisy({3.0, 3.6, 2.5, 3.9, 2.9, 1, 1, 1}, 40, 1.0);
  const Decision run(answers, {.top_fraction = 0.25});
  std::vector<std::pair<double, std::size_t>> errors;
  for (std::size_t s = 0; s < answers.size(); ++s) {
    double sum = 0.0;
    for (const auto& answer : answers[s]) sum += (*answer)[0][2];
    errors.emplace_back(-sum, s);
  }
  std::sort(errors.begin(), errors.end());
  EXPECT_TRUE(run.stop.selected(errors[0].second) && run.stop.selected(errors[1].second));
}

TEST(AdaptiveStop, LooksAtAllSamplesWhereTheFirstOnesCannotKnow) {
  // The third state is worse than the second on a few samples only, and by that in the mean.
  AnswerTable answers = noisy({9.0, 2.0, 1.98, 1.0, 1.0, 1.0, 1.0, 1.0}, 64, 0.0);
  for (const std::size_t sample : {9U, 23U, 41U, 60U}) (*answers[2][sample])[0][2] = 2.6;
  const Decision run(answers, {.top_fraction = 0.25});
  EXPECT_TRUE(run.stop.selected(0) && run.stop.selected(2));
  EXPECT_FALSE(run.stop.selected(1));
  EXPECT_EQ(run.evaluations, 5U * 8 + 59 * 2);
}

TEST(AdaptiveStop, TrustsNoGapThatThePilotsDoNotBearOut) {
  // The third state is the worst one by a fifth of the samples, which the first ones may not hold;
  // the pilot errs on such a part too, on other samples. All draws agree nevertheless.
  AnswerTable answers = noisy({9.0, 2.0, 0.1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, 60, 0.01);
  SampleSums pilot(60, {1.0, 0.0, 0.1, 1.0});
  for (std::size_t i = 2; i < 60; i += 5) pilot[i][2] = 40.0;
  for (std::size_t place = 48; place < 60; ++place) (*answers[2][place])[0][2] = 40.0;
  const Decision run(answers, {.top_fraction = 0.2}, pilot);
  EXPECT_FALSE(run.stop.selected(2));
  EXPECT_FALSE(run.stop.settled());
  EXPECT_LT(run.stop.confidence(), 0.975);
  EXPECT_TRUE(Decision(answers, {.top_fraction = 0.2}).stop.settled());
}

TEST(AdaptiveStop, ComparesWithAThreshold) {
  const AnswerTable answers = noisy({1, 9, 5, 1}, 32, 0.3);
  const Decision run(answers, {.threshold = 4.0});
  EXPECT_TRUE(run.stop.selected(1) && run.stop.selected(2));
  EXPECT_FALSE(run.stop.selected(0) || run.stop.selected(3));
}

TEST(AdaptiveStop, RefusesOptionsWithoutMeaning) {
  EXPECT_THROW(check_adaptive_options({.first_samples = 1}), Error);
  EXPECT_THROW(check_adaptive_options({.confidence = 0.4}), Error);
  EXPECT_THROW(check_adaptive_options({.top_fraction = 0.0}), Error);
}

}  // namespace
}  // namespace bitsweep::sweeping
