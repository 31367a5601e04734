#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bitsweep/error.h"
#include "bitsweep/metric.h"
#include "sweep/metrics/test_tensors.h"

namespace bitsweep::scoring {
namespace {

using testing::floats;

constexpr float kInf = std::numeric_limits<float>::infinity();

double kl(Shape shape, const std::vector<float>& reference, const std::vector<float>& simulated) {
  const auto metric = make_metric("kl");
  metric->add(std::vector{floats(shape, reference)}, std::vector{floats(shape, simulated)});
  return metric->score();
}

TEST(Kl, IsTheDivergenceOfTheSoftmaxesInNats) {
  // p = (3/4, 1/4), q = (1/2, 1/2).
  const double expected = 0.75 * std::log(1.5) + 0.25 * std::log(0.5);
  EXPECT_NEAR(kl({1, 2}, {std::log(3.0F), 0}, {5, 5}), expected, 1e-7);  // log(3) rounded to float
}

TEST(Kl, IsTheMeanOverRows) {
  const double one = kl({1, 2}, {1, 0}, {0, 0});
  EXPECT_NEAR(kl({2, 2}, {1, 0, 2, 2}, {0, 0, 2, 2}), one / 2.0, 1e-12);
}

TEST(Kl, IgnoresACommonShiftAndIsNeverNegative) {
  EXPECT_NEAR(kl({1, 3}, {1, 2, 3}, {101, 102, 103}), 0.0, 1e-12);
  EXPECT_GE(kl({1, 3}, {1, 2, 3}, {101, 102, 103}), 0.0);
}

TEST(Kl, TakesMaskedEntriesAsProbabilityZero) {
  EXPECT_NEAR(kl({1, 3}, {1, 2, -kInf}, {1, 2, -kInf}), 0.0, 1e-12);
  EXPECT_GT(kl({1, 3}, {1, 2, -kInf}, {1, -kInf, 2}), 1e38) << "a possible entry became impossible";
}

TEST(Kl, RefusesAReferenceRowWithoutSoftmax) {
  EXPECT_THROW(kl({1, 2}, {-kInf, -kInf}, {0, 0}), Error);
  EXPECT_THROW(kl({1, 2}, {kInf, 0}, {0, 0}), Error);
}

}  // namespace
}  // namespace bitsweep::scoring
