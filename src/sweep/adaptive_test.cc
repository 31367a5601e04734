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
  AnswerTable answers(means.size());
  for (std::size_t s = 0; s < means.size(); ++s) {
    for (std::size_t i = 0; i < num_samples; ++i)
      answers[s].push_back(Answer{{1.0, 0.0, std::abs(means[s] + noise(random)), 1.0}});
  }
  return answers;
}

/// Rounds without a search.
struct Decision {
  std::unique_ptr<MetricAccumulator> metric = make_metric("mse");
  AdaptiveStop stop;
  double evaluations = 0.0;
  double part = 0.0;                   ///< of the whole work
  std::vector<std::size_t> finalists;  ///< ran on all samples
  double confidence = 0.0;

  Decision(const AnswerTable& all, const AdaptiveOptions& options,
           const std::vector<std::size_t>& kept = {})
      : stop(
            options,
            {.metric = {.accumulator = metric.get(), .better = Better::kLower}, .low_first = false},
            std::vector<double>(all.size(), 0.5), all.front().size()) {
    const auto whole = static_cast<double>(all.size() * all.front().size());
    WorkBudget budget(options.work * Work{.evaluations = whole, .passes = whole});
    AnswerTable answers(all.size());
    while (!stop.open().empty()) {
      const std::size_t next = stop.next_samples();
      for (const std::size_t state : stop.open()) {
        if (answers[state].size() >= next) continue;
        const double more = static_cast<double>(next - answers[state].size());
        evaluations += more;
        budget.spend({.evaluations = more, .passes = more / 2});
        answers[state].assign(all[state].begin(),
                              all[state].begin() + static_cast<std::ptrdiff_t>(next));
      }
      finalists = stop.open();
      if (next == 3) {
        for (const std::size_t state : kept) {
          stop.keep(state);
          answers[state] = all[state];  // what a search found
        }
      }
      stop.settle(answers, budget);
    }
    part = evaluations / whole;
    confidence = stop.confidence(answers, {});
  }
};

std::vector<double> rising(std::size_t count, double factor) {
  std::vector<double> means{1.0};
  while (means.size() < count) means.push_back(means.back() * factor);
  return means;
}

TEST(AdaptiveStop, FindsTheTopWithAThirdOfTheWork) {
  const Decision run(noisy(rising(60, 1.1), 48, 0.2), {});
  for (std::size_t s = 0; s < 60; ++s) EXPECT_EQ(run.stop.selected(s), s >= 54) << s;
  EXPECT_LE(run.part, 1.0 / 3.0);
  EXPECT_GT(run.part, 0.3);
}

TEST(AdaptiveStop, SpendsItsSamplesOnTheCloseOnes) {
  const Decision run(noisy(rising(60, 1.1), 48, 0.2), {.work = 0.2});
  EXPECT_LE(run.part, 0.2);
  // The boundary lies between 53 and 54.
  for (const std::size_t state : run.finalists) EXPECT_TRUE(state >= 48 && state <= 59) << state;
  EXPECT_TRUE(std::ranges::count(run.finalists, 53U) == 1);
  EXPECT_TRUE(std::ranges::count(run.finalists, 54U) == 1);
}

TEST(AdaptiveStop, IsSureWhereNothingMovesFromSampleToSample) {
  EXPECT_EQ(Decision(noisy(rising(60, 1.1), 48, 0.0), {}).confidence, 1.0);
}

TEST(AdaptiveStop, SaysWhenTheSamplesDoNotDecide) {
  EXPECT_LT(Decision(noisy(std::vector<double>(60, 2.0), 48, 0.5), {}).confidence, 0.9);
}

TEST(AdaptiveStop, SelectsWhatAllSamplesSelectWhereTheWorkAllowsIt) {
  const AnswerTable answers = noisy({3.0, 3.6, 2.5, 3.9, 2.9, 1, 1, 1}, 40, 1.0);
  const Decision run(answers, {.top_fraction = 0.25, .work = 1.0});
  std::vector<std::pair<double, std::size_t>> errors;
  for (std::size_t s = 0; s < answers.size(); ++s) {
    double sum = 0.0;
    for (const auto& answer : answers[s]) sum += (*answer)[0][2];
    errors.emplace_back(-sum, s);
  }
  std::sort(errors.begin(), errors.end());
  EXPECT_TRUE(run.stop.selected(errors[0].second) && run.stop.selected(errors[1].second));
  EXPECT_EQ(run.part, 1.0);
}

TEST(AdaptiveStop, KeepsWhatASearchFoundToTheEnd) {
  std::vector<double> means = rising(60, 1.1);
  AnswerTable answers = noisy(means, 48, 0.0);
  (*answers[0][40])[0][2] = 1e6;
  EXPECT_FALSE(Decision(answers, {}).stop.selected(0));
  const Decision run(answers, {}, {0});
  EXPECT_TRUE(run.stop.selected(0));
  EXPECT_FALSE(run.stop.selected(54));
  EXPECT_TRUE(run.stop.selected(55));
}

TEST(AdaptiveStop, ComparesWithAThreshold) {
  const Decision run(noisy({1, 9, 5, 1}, 32, 0.3), {.threshold = 4.0});
  EXPECT_TRUE(run.stop.selected(1) && run.stop.selected(2));
  EXPECT_FALSE(run.stop.selected(0) || run.stop.selected(3));
}

TEST(AdaptiveStop, RefusesOptionsWithoutMeaning) {
  EXPECT_THROW(check_adaptive_options({.first_samples = 1}), Error);
  EXPECT_THROW(check_adaptive_options({.confidence = 0.4}), Error);
  EXPECT_THROW(check_adaptive_options({.top_fraction = 0.0}), Error);
  EXPECT_THROW(check_adaptive_options({.work = 0.0}), Error);
}

}  // namespace
}  // namespace bitsweep::sweeping
