#include "sweep/adaptive.h"

#include <gtest/gtest.h>

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

struct Decision {
  AdaptiveStop stop;
  std::int64_t evaluations = 0;
};

Decision decide(const AnswerTable& answers, const AdaptiveOptions& options) {
  const auto metric = make_metric("mse");
  const ScoredMetric scored{.accumulator = metric.get(), .better = Better::kLower};
  Decision run{AdaptiveStop(options, answers.size(), false, 0)};
  const auto limit = static_cast<std::int64_t>(answers[0].size());
  std::int64_t seen = 0;
  while (!run.stop.open().empty() && seen < limit) {
    const std::int64_t next = std::min(run.stop.next_samples(), limit);
    run.evaluations += (next - seen) * static_cast<std::int64_t>(run.stop.open().size());
    seen = next;
    run.stop.settle(answers, scored, static_cast<std::size_t>(seen));
  }
  run.stop.finish();
  return run;
}

TEST(AdaptiveStop, FindsTheTopWithFewSamplesWhereItIsClear) {
  const AnswerTable answers = noisy({1, 2, 9, 1.5, 0.5, 8, 1, 1, 2, 1}, 64, 0.3);
  const Decision run = decide(answers, {.top_fraction = 0.2});
  EXPECT_TRUE(run.stop.settled());
  EXPECT_TRUE(run.stop.selected(2) && run.stop.selected(5));
  EXPECT_FALSE(run.stop.selected(1));
  EXPECT_GE(run.stop.confidence(), 0.975);
  EXPECT_EQ(run.evaluations, 40);  // the first four samples of all ten
}

TEST(AdaptiveStop, SpendsItsSamplesOnTheCloseOnes) {
  const AnswerTable answers = noisy({1, 9, 3.0, 3.02, 1, 1, 1, 1, 1, 1}, 400, 0.5);
  const Decision run = decide(answers, {.top_fraction = 0.2});
  EXPECT_TRUE(run.stop.selected(1));
  EXPECT_LT(run.evaluations, 1200);
  EXPECT_GT(run.evaluations, 60);
}

TEST(AdaptiveStop, SaysWhenTheSamplesDoNotDecide) {
  const AnswerTable answers = noisy({2, 2, 2, 2}, 6, 0.5);
  const Decision run = decide(answers, {.top_fraction = 0.5});
  EXPECT_FALSE(run.stop.settled());
  EXPECT_LT(run.stop.confidence(), 0.975);
  int selected = 0;
  for (std::size_t s = 0; s < 4; ++s) selected += run.stop.selected(s) ? 1 : 0;
  EXPECT_EQ(selected, 2);
}

TEST(AdaptiveStop, ComparesWithAThreshold) {
  const AnswerTable answers = noisy({1, 9, 5, 1}, 32, 0.3);
  const Decision run = decide(answers, {.threshold = 4.0});
  EXPECT_TRUE(run.stop.selected(1) && run.stop.selected(2));
  EXPECT_FALSE(run.stop.selected(0) || run.stop.selected(3));
}

TEST(AdaptiveStop, RefusesOptionsWithoutMeaning) {
  EXPECT_THROW(AdaptiveStop({.first_samples = 1}, 3, true, 0), Error);
  EXPECT_THROW(AdaptiveStop({.confidence = 0.4}, 3, true, 0), Error);
  EXPECT_THROW(AdaptiveStop({.top_fraction = 0.0}, 3, true, 0), Error);
}

}  // namespace
}  // namespace bitsweep::sweeping
