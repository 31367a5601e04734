#include "sweep/adaptive.h"

#include <gtest/gtest.h>

#include <algorithm>
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

/// The samples as a state with every error the same shows them: in random order.
SampleOrder plain_order(std::size_t num_samples) {
  return {*make_metric("mse"), {SampleSums(num_samples, {1.0, 0.0, 1.0, 1.0})}, 0};
}

struct Decision {
  SampleOrder order;
  AdaptiveStop stop;
  std::size_t evaluations = 0;

  Decision(const AnswerTable& answers, const AdaptiveOptions& options)
      : order(plain_order(answers[0].size())), stop(options, answers.size(), false, 0, order) {
    const auto metric = make_metric("mse");
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
  // The first three samples of all ten, and all of the two next to the boundary.
  EXPECT_EQ(run.evaluations, 3U * 10 + 61 * 2);
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
  EXPECT_EQ(run.evaluations, 3U * 8 + 61 * 2);
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
