#include <gtest/gtest.h>

#include <limits>

#include "bitsweep/error.h"
#include "bitsweep/metric.h"
#include "sweep/metrics/test_tensors.h"

namespace bitsweep::scoring {
namespace {

using testing::floats;

constexpr float kInf = std::numeric_limits<float>::infinity();

std::unique_ptr<MetricAccumulator> top2() {
  return make_metric("topk_logit_psnr", {.k = 2, .outputs = {}, .max_db = 100.0});
}

TEST(TopkLogitPsnr, ComparesTheFloatModelsLargestEntriesOfEveryPosition) {
  const auto metric = top2();
  metric->add(std::vector{floats({2, 3}, {5, 1, 4, 0, 8, 7})},
              std::vector{floats({2, 3}, {5.5F, 90, 4, 90, 8, 7})});
  EXPECT_NEAR(metric->score(),
              psnr_db(std::vector<float>{5, 4, 8, 7}, std::vector<float>{5.5F, 4, 8, 7}), 1e-12);
}

TEST(TopkLogitPsnr, IsOnePsnrOverTheSlicesOfAllSamplesOfAnyShape) {
  const auto metric = top2();
  metric->add(std::vector{floats({1, 3}, {5, 1, 4})}, std::vector{floats({1, 3}, {5, 1, 4})});
  metric->add(std::vector{floats({1, 2}, {-9, 2})}, std::vector{floats({1, 2}, {-8, 2})});
  EXPECT_NEAR(metric->score(),
              psnr_db(std::vector<float>{5, 4, -9, 2}, std::vector<float>{5, 4, -8, 2}), 1e-12);
}

TEST(TopkLogitPsnr, LooksAtTheFirstFloatOutputUnlessToldOtherwise) {
  const std::vector<Tensor> reference = {floats({1, 2}, {1, 2}), floats({1, 2}, {1, 2})};
  const std::vector<Tensor> simulated = {floats({1, 2}, {1, 2}), floats({1, 2}, {1, 5})};
  const auto first = top2();
  first->add(reference, simulated);
  EXPECT_EQ(first->score(), 100.0);
  const auto second = make_metric("topk_logit_psnr", {.k = 2, .outputs = {1}, .max_db = 100.0});
  second->add(reference, simulated);
  EXPECT_LT(second->score(), 10.0);
}

TEST(TopkLogitPsnr, AllowsMaskedEntriesOutsideTheTopK) {
  const auto metric = top2();
  metric->add(std::vector{floats({1, 3}, {5, -kInf, 4})},
              std::vector{floats({1, 3}, {5, -kInf, 4})});
  EXPECT_EQ(metric->score(), 100.0);
  EXPECT_THROW((void)top2()->prepare(std::vector{floats({1, 3}, {5, -kInf, -kInf})}), Error);
}

}  // namespace
}  // namespace bitsweep::scoring
