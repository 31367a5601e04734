#include "allocate/mix/sample_weight.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace bitsweep::allocate {
namespace {

TEST(SampleWeight, ASampleThatLosesAMillionTimesAsMuchHasTheSameSay) {
  const std::array<double, 3> few{1e-6, 4e-6, 2e-6};
  const std::array<double, 3> many{1.0, 4.0, 2.0};
  for (std::size_t i = 0; i < few.size(); ++i)
    EXPECT_NEAR(sample_weight(few) * few[i], sample_weight(many) * many[i], 1e-6);
}

TEST(SampleWeight, ASampleWithoutAnyLossSaysNothing) {
  const std::array<double, 2> none{0.0, 0.0};
  EXPECT_EQ(sample_weight(none) * none[0], 0.0);
  EXPECT_TRUE(std::isfinite(sample_weight(none)));
}

}  // namespace
}  // namespace bitsweep::allocate
