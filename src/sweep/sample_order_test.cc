#include "sweep/sample_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

SampleOrder order_of(const std::vector<double>& values) {
  return {*make_metric("mse"), {errors(values)}, 1};
}

TEST(SampleOrder, PutsTheSamplesThatCarryTheErrorFirst) {
  std::vector<double> values(32, 1.0);
  values[20] = 500.0;
  values[7] = 300.0;
  const SampleOrder order = order_of(values);
  ASSERT_EQ(order.num_certain(), 2U);
  EXPECT_EQ((std::set<std::size_t>{order.sample(0), order.sample(1)}),
            (std::set<std::size_t>{7, 20}));
  std::set<std::size_t> all;
  for (std::size_t i = 0; i < order.size(); ++i) all.insert(order.sample(i));
  EXPECT_EQ(all.size(), values.size());
}

TEST(SampleOrder, TakesTheSamplesThatAnyPilotNames) {
  std::vector<double> first(32, 1.0);
  std::vector<double> second(32, 1.0);
  first[4] = 900.0;
  second[9] = 300.0;
  const SampleOrder order(*make_metric("mse"), {errors(first), errors(second)}, 1);
  ASSERT_EQ(order.num_certain(), 2U);
  EXPECT_EQ((std::set<std::size_t>{order.sample(0), order.sample(1)}),
            (std::set<std::size_t>{4, 9}));
}

TEST(SampleOrder, LimitsTheCertainSamplesHoweverManyPilotsNameOne) {
  std::vector<SampleSums> pilots;
  for (std::size_t p = 0; p < 6; ++p) {
    std::vector<double> values(24, 1.0);
    values[p] = 900.0;
    pilots.push_back(errors(values));
  }
  EXPECT_EQ(SampleOrder(*make_metric("mse"), pilots, 1).num_certain(), 2U);
}

TEST(SampleOrder, HasNoCertainSamplesWhereAllWeighTheSame) {
  EXPECT_EQ(order_of(std::vector<double>(16, 2.0)).num_certain(), 0U);
  EXPECT_EQ(order_of(std::vector<double>(16, 0.0)).num_certain(), 0U);
}

TEST(SampleOrder, CertainSamplesStandForThemselvesAlone) {
  std::vector<double> values(8, 1.0);
  values[3] = 500.0;
  const SampleOrder order = order_of(values);
  EXPECT_THAT(order.stand_ins(3), ElementsAre(0, 1, 2, 1, 2, 1, 2, 1));
  for (const std::vector<std::size_t>& set : order.possible_sets(3, 5)) {
    ASSERT_EQ(set.size(), 8U);
    EXPECT_EQ(std::count(set.begin(), set.end(), 0U), 1);
    for (const std::size_t place : set) EXPECT_LT(place, 3U);
  }
}

TEST(SampleOrder, HeavySamplesLendTheirErrorToNoneOnceLightOnesAreSeen) {
  std::vector<double> values(32, 1.0);
  for (const std::size_t i : {3U, 9U, 14U, 27U, 30U}) values[i] = 500.0;
  const SampleOrder order = order_of(values);
  ASSERT_EQ(order.num_heavy(), 5U);
  ASSERT_EQ(order.num_certain(), 3U);
  for (const std::size_t place : order.stand_ins(6)) EXPECT_LT(place, 6U);
  EXPECT_EQ(order.stand_ins(6)[6], 3U);  // one light sample is too few
  const std::vector<std::size_t> places = order.stand_ins(7);
  for (std::size_t i = 7; i < 32; ++i) EXPECT_GE(places[i], 5U);
  for (const std::vector<std::size_t>& set : order.possible_sets(7, 1))
    EXPECT_EQ(std::ranges::count_if(set, [](std::size_t p) { return p < 5; }), 5);
}

TEST(SampleOrder, AllSamplesLeaveOnePossibility) {
  const SampleOrder order = order_of({1, 2, 3});
  EXPECT_THAT(order.stand_ins(3), ElementsAre(0, 1, 2));
  EXPECT_THAT(order.possible_sets(3, 5), ElementsAre(ElementsAre(0, 1, 2)));
}

}  // namespace
}  // namespace bitsweep::sweeping
