#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bitsweep/error.h"
#include "bitsweep/metric.h"
#include "sweep/metrics/test_tensors.h"

namespace bitsweep::scoring {
namespace {

using testing::floats;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Psnr, IsRangeOverRmsErrorInDb) {
  // range = max(3 - 1, 3) = 3, rms error = 0.5.
  const std::vector<float> expected = {1, 3};
  const std::vector<float> actual = {1.5F, 2.5F};
  EXPECT_NEAR(psnr_db(expected, actual), 20.0 * std::log10(3.0 / 0.5), 1e-12);
}

TEST(Psnr, RangeIsTheSpreadWhenItExceedsTheLargestMagnitude) {
  const std::vector<float> expected = {-2, 3};
  const std::vector<float> actual = {-2, 2};
  EXPECT_NEAR(psnr_db(expected, actual), 20.0 * std::log10(5.0 / std::sqrt(0.5)), 1e-12);
}

TEST(Psnr, IdenticalArraysReachTheClipAlsoWhenAllZero) {
  EXPECT_EQ(psnr_db(std::vector<float>{1, 2}, std::vector<float>{1, 2}), 100.0);
  EXPECT_EQ(psnr_db(std::vector<float>{0, 0}, std::vector<float>{0, 0}), 100.0);
  EXPECT_EQ(psnr_db(std::vector<float>{1, 2}, std::vector<float>{1, 2}, 40.0), 40.0);
}

TEST(Psnr, NonFiniteActualIsMinusTheClip) {
  EXPECT_EQ(psnr_db(std::vector<float>{1, 2}, std::vector<float>{1, kNan}), -100.0);
  EXPECT_EQ(psnr_db(std::vector<float>{1, 2},
                    std::vector<float>{1, std::numeric_limits<float>::infinity()}, 60.0),
            -60.0);
}

TEST(Psnr, SquaredErrorsBeyondFloat32AreMinusTheClip) {
  EXPECT_EQ(psnr_db(std::vector<float>{1e20F, 2e20F}, std::vector<float>{1e20F, 1e20F}), -100.0);
  EXPECT_GT(psnr_db(std::vector<float>{1e18F, 2e18F}, std::vector<float>{1e18F, 1e18F}), 0.0);
}

TEST(Psnr, RefusesEmptyUnequalAndNonFiniteExpected) {
  EXPECT_THROW(psnr_db({}, {}), Error);
  EXPECT_THROW(psnr_db(std::vector<float>{1}, std::vector<float>{1, 2}), Error);
  EXPECT_THROW(psnr_db(std::vector<float>{kNan}, std::vector<float>{1}), Error);
}

TEST(Psnr, StreamingUsesTheRangeOfAllSamplesAsIfStacked) {
  const auto metric = make_metric("psnr");
  metric->add(std::vector{floats({2}, {0, 1})}, std::vector{floats({2}, {0, 1.5F})});
  metric->add(std::vector{floats({2}, {-8, 2})}, std::vector{floats({2}, {-8, 2})});
  EXPECT_NEAR(metric->score(),
              psnr_db(std::vector<float>{0, 1, -8, 2}, std::vector<float>{0, 1.5F, -8, 2}), 1e-12);
}

TEST(Psnr, ReportsTheMinimumOverOutputs) {
  const std::vector<Tensor> reference = {floats({2}, {1, 3}), floats({2}, {1, 3})};
  const auto metric = make_metric("psnr");
  metric->add(reference, std::vector{floats({2}, {1, 3.1F}), floats({2}, {1, 4})});
  EXPECT_NEAR(metric->score(), psnr_db(std::vector<float>{1, 3}, std::vector<float>{1, 4}), 1e-12);
}

}  // namespace
}  // namespace bitsweep::scoring
