#include <gtest/gtest.h>

#include <limits>

#include "bitsweep/metric.h"
#include "sweep/metrics/test_tensors.h"
#include "sweep/metrics/top_indices.h"

namespace bitsweep::scoring {
namespace {

using testing::floats;

double agreement(const char* name, int k, Shape shape, const std::vector<float>& reference,
                 const std::vector<float>& simulated) {
  const auto metric = make_metric(name, {.k = k, .outputs = {}, .max_db = 100.0});
  metric->add(std::vector{floats(shape, reference)}, std::vector{floats(shape, simulated)});
  return metric->score();
}

TEST(TopIndices, PicksTheLargestAndTheFirstOfEqualOnes) {
  EXPECT_EQ(top_indices(std::vector<float>{1, 5, 5, 0, 7}, 2), (std::vector<std::uint32_t>{1, 4}));
  EXPECT_EQ(top_indices(std::vector<float>{2, 2, 2}, 1), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(top_indices(std::vector<float>{2, 1}, 2), (std::vector<std::uint32_t>{0, 1}));
}

TEST(TopIndices, BringsNanToLight) {
  EXPECT_EQ(top_indices(std::vector<float>{9, std::numeric_limits<float>::quiet_NaN(), 8}, 1),
            (std::vector<std::uint32_t>{1}));
}

TEST(Top1, IsTheShareOfRowsWithTheSameLargestEntry) {
  EXPECT_EQ(agreement("top1", 10, {2, 3}, {1, 2, 3, 3, 2, 1}, {1, 2, 3, 1, 2, 3}), 0.5);
}

TEST(TopK, IsTheMeanOverlapWhateverTheOrderInside) {
  EXPECT_EQ(agreement("topk", 2, {1, 4}, {4, 3, 2, 1}, {3, 4, 2, 1}), 1.0);
  EXPECT_EQ(agreement("topk", 2, {1, 4}, {4, 3, 2, 1}, {4, 1, 2, 3}), 0.5);
}

TEST(TopK, LargerThanTheAxisCountsTheWholeAxis) {
  EXPECT_EQ(agreement("topk", 10, {1, 3}, {1, 2, 3}, {3, 2, 1}), 1.0);
}

}  // namespace
}  // namespace bitsweep::scoring
