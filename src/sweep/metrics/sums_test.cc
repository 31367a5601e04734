#include "sweep/metrics/sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sweep/metrics/test_tensors.h"

namespace bitsweep::scoring {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Sizes around the lane and block widths.
const std::vector<std::size_t> kSizes = {0, 1, 15, 16, 17, 50, 4095, 4096, 4097, 12290};

TEST(Sums, EqualThePlainLoopInLongDoubleForEverySize) {
  for (const std::size_t n : kSizes) {
    const std::vector<float> a = testing::normal(n, 1);
    const std::vector<float> b = testing::normal(n, 2);
    long double error = 0.0L;
    long double squares = 0.0L;
    long double product = 0.0L;
    for (std::size_t i = 0; i < n; ++i) {
      const long double difference = a[i] - b[i];
      error += difference * difference;
      squares += static_cast<long double>(a[i]) * a[i];
      product += static_cast<long double>(a[i]) * b[i];
    }
    // Bound: n roundings of double, far below.
    const double tolerance = 1e-12 * static_cast<double>(n + 1);
    EXPECT_NEAR(sum_squared_error(a, b), static_cast<double>(error), tolerance) << n;
    EXPECT_NEAR(sum_of_squares(a), static_cast<double>(squares), tolerance) << n;
    EXPECT_NEAR(dot(a, b), static_cast<double>(product), tolerance) << n;
  }
}

TEST(Sums, AreNotFiniteExactlyWhenAValueIsNot) {
  for (const std::size_t n : kSizes) {
    for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
      if (n == 0) continue;
      for (const float bad : {kNan, kInf, -kInf}) {
        std::vector<float> a = testing::normal(n, 3);
        const std::vector<float> b = testing::normal(n, 4);
        EXPECT_TRUE(all_finite(a));
        a[at] = bad;
        EXPECT_FALSE(all_finite(a)) << n << " " << at;
        EXPECT_FALSE(std::isfinite(sum_squared_error(a, b)));
        EXPECT_FALSE(std::isfinite(sum_squared_error(b, a)));
      }
    }
  }
  const std::vector<float> infinite(20, kInf);
  EXPECT_FALSE(std::isfinite(sum_squared_error(infinite, infinite))) << "inf - inf is no agreement";
}

TEST(Sums, SurviveDifferencesBeyondTheRangeOfFloat) {
  const std::vector<float> a = {3e38F, 1.0F};
  const std::vector<float> b = {-3e38F, 1.0F};
  EXPECT_NEAR(sum_squared_error(a, b) / 3.6e77, 1.0, 1e-6);
}

TEST(Sums, MinMaxFindsTheEndsAtEveryPosition) {
  for (const std::size_t n : kSizes) {
    for (std::size_t at = 0; at < std::min<std::size_t>(n, 40); ++at) {
      std::vector<float> values(n, 1.0F);
      values[at] = -5.0F;
      values[n - 1 - at] = std::max(values[n - 1 - at] + 6.0F, 1.0F);
      const MinMax range = min_max(values);
      EXPECT_EQ(range.min, *std::min_element(values.begin(), values.end()));
      EXPECT_EQ(range.max, *std::max_element(values.begin(), values.end()));
    }
  }
}

TEST(Sums, LogSumExpNeitherOverflowsNorLosesMaskedEntries) {
  EXPECT_NEAR(log_sum_exp(std::vector<float>{1000.0F, 1000.0F}), 1000.0 + std::log(2.0), 1e-9);
  EXPECT_NEAR(log_sum_exp(std::vector<float>{-kInf, 2.0F}), 2.0, 1e-12);
  EXPECT_EQ(log_sum_exp(std::vector<float>{-kInf, -kInf}),
            -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(log_sum_exp(std::vector<float>{0.0F, kNan})));
  EXPECT_TRUE(std::isnan(log_sum_exp(std::vector<float>{kNan, 0.0F})));
}

}  // namespace
}  // namespace bitsweep::scoring
