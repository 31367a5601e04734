#include <gtest/gtest.h>

#include <cmath>

#include "bitsweep/metric.h"
#include "sweep/metrics/test_tensors.h"

namespace bitsweep::scoring {
namespace {

using testing::floats;

double sqnr(const std::vector<float>& reference, const std::vector<float>& simulated,
            double max_db = 100.0) {
  const auto metric = make_metric("sqnr", {.k = 1, .outputs = {}, .max_db = max_db});
  const auto n = static_cast<std::int64_t>(reference.size());
  metric->add(std::vector{floats({n}, reference)}, std::vector{floats({n}, simulated)});
  return metric->score();
}

TEST(Sqnr, IsSignalOverNoiseEnergyInDb) {
  EXPECT_NEAR(sqnr({3, 4}, {3, 4.5F}), 10.0 * std::log10(25.0 / 0.25), 1e-12);
}

TEST(Sqnr, HalvingTheNoiseAddsSixDb) {
  EXPECT_NEAR(sqnr({3, 4}, {3, 4.25F}) - sqnr({3, 4}, {3, 4.5F}), 20.0 * std::log10(2.0), 1e-12);
}

TEST(Sqnr, IsClippedSoThatEveryScoreIsFinite) {
  EXPECT_EQ(sqnr({1, 2}, {1, 2}), 100.0);
  EXPECT_EQ(sqnr({0, 0}, {0, 0}), 100.0);
  EXPECT_EQ(sqnr({0, 0}, {0, 1}), -100.0);
  EXPECT_EQ(sqnr({1, 0}, {1, 1e-3F}, 50.0), 50.0);
}

TEST(Sqnr, HugeAndTinyValuesNeitherOverflowNorVanish) {
  EXPECT_NEAR(sqnr({3e38F, 0}, {0, 0}), 0.0, 1e-6);
  EXPECT_NEAR(sqnr({1e-30F, 0}, {0, 0}), 0.0, 1e-6);
}

}  // namespace
}  // namespace bitsweep::scoring
