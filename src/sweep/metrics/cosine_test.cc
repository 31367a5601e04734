#include <gtest/gtest.h>

#include <cmath>

#include "bitsweep/metric.h"
#include "sweep/metrics/test_tensors.h"

namespace bitsweep::scoring {
namespace {

double cosine(const std::vector<float>& reference, const std::vector<float>& simulated) {
  const auto metric = make_metric("cosine");
  const auto n = static_cast<std::int64_t>(reference.size());
  metric->add(std::vector{testing::floats({n}, reference)},
              std::vector{testing::floats({n}, simulated)});
  return metric->score();
}

TEST(Cosine, IsTheCosineOfTheAngle) {
  EXPECT_NEAR(cosine({1, 0}, {1, 1}), std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(cosine({1, 2}, {-1, -2}), -1.0, 1e-12);
  EXPECT_NEAR(cosine({1, 2}, {3, 6}), 1.0, 1e-12);
}

TEST(Cosine, OfZeroVectorsIsOneAndOfOneZeroVectorIsZero) {
  EXPECT_EQ(cosine({0, 0}, {0, 0}), 1.0);
  EXPECT_EQ(cosine({1, 2}, {0, 0}), 0.0);
  EXPECT_EQ(cosine({0, 0}, {1, 2}), 0.0);
}

}  // namespace
}  // namespace bitsweep::scoring
