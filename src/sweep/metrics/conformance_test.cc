// What every metric of the table promises, checked on each entry.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "bitsweep/error.h"
#include "bitsweep/metric.h"
#include "sweep/metrics/test_tensors.h"

namespace bitsweep::scoring {
namespace {

using testing::floats;
using testing::halves;
using testing::integers;
using testing::normal;
using testing::plus;

class EveryMetric : public ::testing::TestWithParam<std::string> {
 protected:
  static MetricOptions options() { return {.k = 3, .outputs = {}, .max_db = 100.0}; }
  std::unique_ptr<MetricAccumulator> metric(MetricOptions chosen = options()) const {
    return make_metric(GetParam(), chosen);
  }
  bool higher() const { return find_metric(GetParam()).better == Better::kHigher; }
  bool worse(double a, double b) const { return higher() ? a < b : a > b; }

  double score(const std::vector<Tensor>& reference, const std::vector<Tensor>& simulated) const {
    const auto accumulator = metric();
    accumulator->add(reference, simulated);
    return accumulator->score();
  }
  static std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
};

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const MetricInfo& info : metrics()) all.push_back(info.name);
  return all;
}

/// Those that compare with the float outputs; label_metric_test.cc has the others.
std::vector<std::string> compared_with_float() {
  std::vector<std::string> all;
  for (const MetricInfo& info : metrics()) {
    if (!info.needs_labels) all.push_back(info.name);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryMetric, ::testing::ValuesIn(compared_with_float()),
                         [](const auto& row) { return row.param; });

TEST(MetricTable, HoldsTheDocumentedMetricsWithSummaries) {
  const std::vector<std::string> all = names();
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()),
            (std::set<std::string>{"accuracy", "cosine", "cross_entropy", "kl", "mse", "perplexity",
                                   "psnr", "sqnr", "top1", "topk", "topk_logit_psnr"}));
  for (const MetricInfo& info : metrics()) EXPECT_FALSE(info.summary.empty()) << info.name;
}

TEST(MetricTable, UnknownNameListsTheKnownOnes) {
  try {
    make_metric("snr");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "metric: no metric is named \"snr\"; did you mean \"psnr\"? use one of: accuracy, "
                 "cosine, cross_entropy, "
                 "kl, mse, perplexity, psnr, sqnr, top1, topk, topk_logit_psnr");
  }
}

TEST(MetricTable, RefusesOptionsWithoutMeaning) {
  EXPECT_THROW(make_metric("topk", {.k = 0, .outputs = {}, .max_db = 100.0}), Error);
  EXPECT_THROW(make_metric("psnr", {.k = 1, .outputs = {}, .max_db = 0.0}), Error);
  EXPECT_THROW(make_metric("psnr", {.k = 1, .outputs = {-1}, .max_db = 100.0}), Error);
}

TEST_P(EveryMetric, MoreNoiseIsNeverBetterAndNoNoiseIsBest) {
  const std::vector<float> clean = normal(600, 1);
  const std::vector<float> noise = normal(600, 2);
  const Tensor reference = floats({20, 30}, clean);
  double previous = score({reference}, {reference});
  for (const float level : {0.01F, 0.1F, 1.0F, 10.0F}) {
    std::vector<float> scaled = noise;
    for (float& value : scaled) value *= level;
    const double now = score({reference}, {floats({20, 30}, plus(clean, scaled))});
    EXPECT_FALSE(worse(previous, now)) << level;
    EXPECT_TRUE(std::isfinite(now));
    previous = now;
  }
  EXPECT_TRUE(worse(previous, score({reference}, {reference})));
}

TEST_P(EveryMetric, MergedSamplesGiveTheBitsOfOneAccumulator) {
  const auto together = metric();
  const auto merged = metric();
  for (unsigned sample = 0; sample < 5; ++sample) {
    // Shapes differ from sample to sample.
    const std::int64_t rows = 1 + sample;
    const std::vector<float> clean = normal(static_cast<std::size_t>(rows) * 40, sample);
    const Tensor reference = floats({rows, 40}, clean);
    const Tensor simulated =
        floats({rows, 40}, plus(clean, normal(clean.size(), 100 + sample, 0.2F)));
    together->add(std::vector{reference}, std::vector{simulated});
    const auto alone = merged->fresh();
    alone->add(std::vector{reference}, std::vector{simulated});
    EXPECT_TRUE(std::isfinite(alone->score()));
    merged->merge(*alone);
  }
  EXPECT_EQ(together->score(), merged->score());
  EXPECT_EQ(together->state(), merged->state());
}

TEST_P(EveryMetric, DoesNotDependOnHowSamplesAreBatched) {
  const std::vector<float> clean = normal(8 * 50, 5);
  const std::vector<float> noisy = plus(clean, normal(clean.size(), 6, 0.3F));
  const double stacked = score({floats({8, 50}, clean)}, {floats({8, 50}, noisy)});
  const auto one_by_one = metric();
  for (std::ptrdiff_t row = 0; row < 8; ++row) {
    const std::vector<float> a(clean.begin() + row * 50, clean.begin() + (row + 1) * 50);
    const std::vector<float> b(noisy.begin() + row * 50, noisy.begin() + (row + 1) * 50);
    one_by_one->add(std::vector{floats({1, 50}, a)}, std::vector{floats({1, 50}, b)});
  }
  // Sums of other blocks: double rounding only.
  EXPECT_NEAR(one_by_one->score(), stacked, 1e-9 * std::max(1.0, std::abs(stacked)));
}

TEST_P(EveryMetric, OneReferenceServesManyStates) {
  const std::vector<float> clean = normal(200, 7);
  const Tensor reference = floats({4, 50}, clean);
  const auto first = metric();
  const auto prepared = first->prepare(std::vector{reference});
  for (unsigned state = 0; state < 3; ++state) {
    const Tensor simulated = floats({4, 50}, plus(clean, normal(200, 8 + state, 0.1F)));
    const auto accumulator = metric();
    accumulator->add(*prepared, std::vector{simulated});
    EXPECT_EQ(accumulator->score(), score({reference}, {simulated}));
  }
}

TEST_P(EveryMetric, ReadsHalfPrecisionOutputs) {
  const std::vector<float> clean = normal(200, 9);
  const std::vector<float> noisy = plus(clean, normal(200, 10, 0.1F));
  const Tensor half_reference = halves({4, 50}, clean);
  const Tensor half_simulated = halves({4, 50}, noisy);
  EXPECT_EQ(score({half_reference}, {half_simulated}),
            score({half_reference.to_float()}, {half_simulated.to_float()}));
}

TEST_P(EveryMetric, SkipsIntegerOutputs) {
  const Tensor reference = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor simulated = floats({2, 3}, {1, 2, 3.5F, 4, 6, 5});
  EXPECT_EQ(score({integers({1}), reference}, {integers({9}), simulated}),
            score({reference}, {simulated}));
}

TEST_P(EveryMetric, ReportsTheChosenOutputOnly) {
  const Tensor reference = floats({1, 4}, {1, 2, 3, 4});
  const Tensor bad = floats({1, 4}, {4, 3, 2, 1});
  const auto second = metric({.k = 3, .outputs = {1}, .max_db = 100.0});
  second->add(std::vector{reference, reference}, std::vector{bad, reference});
  EXPECT_EQ(second->score(), score({reference}, {reference}));
  EXPECT_NE(score({reference}, {bad}), score({reference}, {reference}));
}

TEST_P(EveryMetric, NonFiniteSimulatedValuesGiveTheWorstScore) {
  const std::vector<float> clean = normal(40, 11);
  const Tensor reference = floats({1, 40}, clean);
  std::vector<float> reversed(clean.rbegin(), clean.rend());
  const double wrong = score({reference}, {floats({1, 40}, reversed)});
  std::vector<float> bad = clean;
  // At the largest value, so that metrics which look at few entries see it too.
  bad[static_cast<std::size_t>(std::max_element(clean.begin(), clean.end()) - clean.begin())] =
      std::numeric_limits<float>::quiet_NaN();
  const auto accumulator = metric();
  accumulator->add(std::vector{reference}, std::vector{reference});
  accumulator->add(std::vector{reference}, std::vector{floats({1, 40}, bad)});
  EXPECT_TRUE(std::isfinite(accumulator->score()));
  EXPECT_FALSE(worse(wrong, accumulator->score()));
  accumulator->add(std::vector{reference}, std::vector{reference});
  EXPECT_FALSE(worse(wrong, accumulator->score())) << "a later good sample must not hide it";
}

TEST_P(EveryMetric, NonFiniteFloatValuesAreAnErrorThatNamesTheOutput) {
  const Tensor reference = floats({1, 2}, {1.0F, std::numeric_limits<float>::quiet_NaN()});
  const std::string text = error_of([&] { (void)metric()->prepare(std::vector{reference}); });
  EXPECT_NE(text.find("output 0 of the float model holds NaN"), std::string::npos) << text;
}

TEST_P(EveryMetric, WithoutFloatOutputIsAnError) {
  const std::string text = error_of([&] { (void)metric()->prepare(std::vector{integers({1})}); });
  EXPECT_NE(text.find("no floating-point output"), std::string::npos) << text;
}

TEST_P(EveryMetric, OtherNumbersOfDimensionsAreAnErrorThatShowsBoth) {
  const std::string text =
      error_of([&] { score({floats({1, 2}, {1, 2})}, {floats({2}, {1, 2})}); });
  EXPECT_NE(text.find("[1,2]"), std::string::npos) << text;
  EXPECT_NE(text.find("[2]"), std::string::npos) << text;
}

// A detector that finds one thing more or less, a voice that speaks longer.
TEST_P(EveryMetric, AnOutputOfAnotherSizeGivesTheWorstScore) {
  const Tensor reference = floats({2, 4}, {1, 2, 3, 4, 8, 7, 6, 5});
  const Tensor nothing = floats({0, 4}, {});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const double worst = score({reference}, {floats({2, 4}, std::vector<float>(8, nan))});
  EXPECT_EQ(score({reference}, {floats({1, 4}, {1, 2, 3, 4})}), worst);
  EXPECT_EQ(score({reference}, {nothing}), worst);
  EXPECT_EQ(score({nothing}, {reference}), worst);
}

TEST_P(EveryMetric, ScoreWithoutSamplesIsAnError) {
  EXPECT_NE(error_of([&] { (void)metric()->score(); }).find("no samples"), std::string::npos);
  const auto empty = metric();
  empty->add(std::vector{floats({0, 4}, {})}, std::vector{floats({0, 4}, {})});
  EXPECT_NE(error_of([&] { (void)empty->score(); }).find("no values"), std::string::npos);
}

TEST_P(EveryMetric, EmptySamplesDoNotCount) {
  const Tensor reference = floats({1, 4}, {1, 2, 3, 4});
  const Tensor simulated = floats({1, 4}, {1, 2, 4, 3});
  const Tensor nothing = floats({0, 4}, {});
  const auto accumulator = metric();
  accumulator->add(std::vector{nothing}, std::vector{nothing});
  accumulator->add(std::vector{reference}, std::vector{simulated});
  accumulator->add(std::vector{nothing}, std::vector{nothing});
  EXPECT_EQ(accumulator->score(), score({reference}, {simulated}));
}

TEST_P(EveryMetric, TakesScalarOutputs) {
  EXPECT_TRUE(std::isfinite(score({floats({}, {2.0F})}, {floats({}, {2.5F})})));
}

TEST_P(EveryMetric, PartialResultsThatDoNotFitAreRefused) {
  const Tensor reference = floats({1, 4}, {1, 2, 3, 4});
  const auto accumulator = metric();
  accumulator->add(std::vector{reference}, std::vector{reference});
  std::vector<double> state = accumulator->state();
  state.push_back(1.0);
  EXPECT_NE(error_of([&] { accumulator->merge(state); }).find("partial result"), std::string::npos);
}

}  // namespace
}  // namespace bitsweep::scoring
