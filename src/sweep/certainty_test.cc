#include "sweep/certainty.h"

#include <gtest/gtest.h>

#include <cmath>

namespace bitsweep::sweeping {
namespace {

// Sums of the MSE metric for one output, made by the metric itself.
SampleSums sums(const std::vector<float>& errors) {
  SampleSums result;
  for (const float error : errors) {
    Tensor reference = Tensor::allocate(DataType::kFloat, {1});
    Tensor simulated = Tensor::allocate(DataType::kFloat, {1});
    reference.mutable_floats()[0] = 1.0F;
    simulated.mutable_floats()[0] = 1.0F + error;
    const auto metric = make_metric("mse");
    metric->add(std::vector<Tensor>{reference}, std::vector<Tensor>{simulated});
    result.push_back(metric->state());
  }
  return result;
}

TEST(Bootstrap, EqualSamplesLeaveNoDoubt) {
  const auto metric = make_metric("mse");
  const Bootstrap bootstrap(*metric, {sums({0.5F, 0.5F, 0.5F})}, 1);
  EXPECT_EQ(bootstrap.interval(0).standard_error, 0.0);
  EXPECT_EQ(bootstrap.interval(0).low, bootstrap.interval(0).high);
}

TEST(Bootstrap, StandardErrorOfAMeanFollowsTheFormula) {
  // Squared errors 0, 1, 4, 9, ...: the standard error of their mean is s / sqrt(n).
  std::vector<float> errors;
  std::vector<double> squares;
  for (int i = 0; i < 64; ++i) {
    errors.push_back(static_cast<float>(i % 8) / 8.0F);
    squares.push_back(std::pow((i % 8) / 8.0, 2));
  }
  double mean = 0.0;
  for (const double v : squares) mean += v / 64.0;
  double variance = 0.0;
  for (const double v : squares) variance += (v - mean) * (v - mean) / 64.0;
  const double wanted = std::sqrt(variance / 64.0);
  const auto metric = make_metric("mse");
  const ScoreInterval interval = Bootstrap(*metric, {sums(errors)}, 3).interval(0);
  // 200 draws know a standard deviation to about 5%; three times that.
  EXPECT_NEAR(interval.standard_error, wanted, 0.15 * wanted);
  EXPECT_LT(interval.low, mean);
  EXPECT_GT(interval.high, mean);
}

TEST(Bootstrap, StatesThatDifferOnEverySampleAreNotTiedWhateverTheirSpread) {
  const auto metric = make_metric("mse");
  // The second is a little worse on each sample: paired draws see it, intervals alone would not.
  const Bootstrap bootstrap(*metric,
                            {sums({0.1F, 0.9F, 0.4F, 0.6F}), sums({0.11F, 0.91F, 0.41F, 0.61F}),
                             sums({0.9F, 0.1F, 0.6F, 0.4F})},
                            5);
  EXPECT_FALSE(bootstrap.tied(0, 1));
  EXPECT_TRUE(bootstrap.tied(0, 2));
}

TEST(Bootstrap, TheSeedDecidesTheDraws) {
  const auto metric = make_metric("mse");
  const std::vector<SampleSums> states = {sums({0.1F, 0.9F, 0.4F, 0.6F, 0.2F})};
  EXPECT_EQ(Bootstrap(*metric, states, 7).interval(0).standard_error,
            Bootstrap(*metric, states, 7).interval(0).standard_error);
  EXPECT_NE(Bootstrap(*metric, states, 7).interval(0).standard_error,
            Bootstrap(*metric, states, 8).interval(0).standard_error);
}

}  // namespace
}  // namespace bitsweep::sweeping
