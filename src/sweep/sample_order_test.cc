#include "sweep/sample_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace bitsweep::sweeping {
namespace {

using ::testing::ElementsAre;

/// Sums of the metric mse: one output with an error and a count.
SampleSums errors(const std::vector<double>& values) {
  SampleSums sums;
  for (const double value : values) sums.push_back({1.0, 0.0, value, 1.0});
  return sums;
}

SampleSums quiet(std::size_t num_samples) { return {num_samples, {1.0, 0.0, 0.0, 1.0}}; }

SampleOrder order_of(const std::vector<double>& values) {
  return {*make_metric("mse"), {errors(values)}, quiet(values.size()), 1};
}

TEST(SampleOrder, PutsTheSamplesThatCarryTheErrorFirst) {
  std::vector<double> values(32, 1.0);
  values[20] = 500.0;
  values[7] = 300.0;
  const SampleOrder order = order_of(values);
  EXPECT_EQ(order.sample(0), 20U);
  EXPECT_EQ(order.sample(1), 7U);
  std::set<std::size_t> all;
  for (std::size_t i = 0; i < order.size(); ++i) all.insert(order.sample(i));
  EXPECT_EQ(all.size(), values.size());
}

TEST(SampleOrder, ShowsTheHeavySampleOfEachPilotBeforeTheSecondOneOfAnother) {
  std::vector<double> first(32, 1.0);
  std::vector<double> second(32, 1.0);
  first[4] = 900.0;
  first[5] = 800.0;
  second[9] = 30.0;
  const SampleOrder order(*make_metric("mse"), {errors(first), errors(second)}, quiet(32), 1);
  EXPECT_EQ((std::set<std::size_t>{order.sample(0), order.sample(1)}),
            (std::set<std::size_t>{4, 9}));
  EXPECT_EQ(order.sample(2), 5U);
}

/// Sums of sqnr for one value.
std::vector<double> sqnr_sums(float signal, float simulated) {
  const auto total = make_metric("sqnr");
  std::vector<Tensor> reference{Tensor::allocate(DataType::kFloat, {1})};
  std::vector<Tensor> outputs{Tensor::allocate(DataType::kFloat, {1})};
  reference[0].mutable_floats()[0] = signal;
  outputs[0].mutable_floats()[0] = simulated;
  total->add(reference, outputs);
  return total->state();
}

TEST(SampleOrder, FollowsTheErrorWhateverTheSignal) {
  SampleSums pilot;
  SampleSums no_error;
  for (std::size_t i = 0; i < 16; ++i) {
    const float signal = i == 3 || i == 5 ? 100.0F : 1.0F;
    const float error = i == 3 || i == 9 ? 0.5F : 0.01F;
    pilot.push_back(sqnr_sums(signal, signal + error));
    no_error.push_back(sqnr_sums(signal, signal));
  }
  const SampleOrder order(*make_metric("sqnr"), {pilot}, no_error, 1);
  EXPECT_EQ((std::set<std::size_t>{order.sample(0), order.sample(1)}),
            (std::set<std::size_t>{3, 9}));
}

TEST(SampleOrder, TheSeedDecidesAmongSamplesOfTheSameWeight) {
  const auto first_of = [](std::uint64_t seed) {
    return SampleOrder(*make_metric("mse"), {errors(std::vector<double>(64, 2.0))}, quiet(64), seed)
        .sample(0);
  };
  EXPECT_EQ(first_of(3), first_of(3));
  EXPECT_EQ((std::set<std::size_t>{first_of(1), first_of(2), first_of(3), first_of(4)}).size(), 4U);
}

TEST(SampleOrder, TheLighterSeenSamplesStandForThoseThatFollow) {
  const SampleOrder order = order_of({9, 8, 7, 6, 5, 4, 3, 2});
  EXPECT_THAT(order.stand_ins(4), ElementsAre(0, 1, 2, 3, 2, 3, 2, 3));
  EXPECT_THAT(order.stand_ins(3), ElementsAre(0, 1, 2, 1, 2, 1, 2, 1));
  EXPECT_THAT(order.stand_ins(8), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

}  // namespace
}  // namespace bitsweep::sweeping
