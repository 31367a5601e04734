#include "allocate/mix/clipping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bitsweep/mix.h"
#include "graph/testing/model_builder.h"
#include "simulate/testing/nets.h"

namespace bitsweep::allocate {
namespace {

using graph::testing::ModelBuilder;
using simulate::testing::samples;
using simulate::testing::VectorSource;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Model products() {
  ModelBuilder m;
  m.input("x", {4, 64}).random("w1", {64, 48}, 1).random("w2", {48, 16}, 2);
  m.node("h = MatMul(x, w1)").node("r = Relu(h)").node("y = MatMul(r, w2)").output("y");
  return m.model();
}

std::vector<Feed> divided(const std::vector<Feed>& feeds, float divisor) {
  std::vector<Feed> result;
  for (const Feed& feed : feeds) {
    const Tensor& x = feed.at("x");
    Tensor smaller = Tensor::allocate(x.type(), x.shape());
    std::transform(x.floats().begin(), x.floats().end(), smaller.mutable_floats().begin(),
                   [&](float v) { return v / divisor; });
    result.push_back(Feed{{"x", smaller}});
  }
  return result;
}

class ClippingTest : public ::testing::Test {
 protected:
  /// Calibrated on samples so many times smaller than those of the search.
  void calibrate(float divisor) {
    calibration_ = std::make_unique<VectorSource>(divided(samples(model_, 4, 1), divisor));
    sim_.calibrate(*calibration_);
  }

  const Model model_ = products();
  Simulation sim_{model_};
  std::unique_ptr<VectorSource> calibration_;
  VectorSource search_{samples(model_, 4, 2)};
};

TEST_F(ClippingTest, NamesTheTensorWithTheLargestShareOfValuesBeyondItsRange) {
  calibrate(4.0F);
  const std::optional<Clipping> input = worst_clipping(sim_, {"x"}, search_);
  const std::optional<Clipping> inside = worst_clipping(sim_, {"r"}, search_);
  const std::optional<Clipping> worst = worst_clipping(sim_, {"r", "x"}, search_);
  ASSERT_TRUE(input && inside && worst);
  EXPECT_EQ(inside->tensor, "r");
  EXPECT_GT(std::min(input->share, inside->share), 0.05);
  EXPECT_LT(std::max(input->share, inside->share), 0.8);
  EXPECT_EQ(worst->share, std::max(input->share, inside->share));
  EXPECT_EQ(worst->tensor, input->share > inside->share ? "x" : "r");
}

TEST_F(ClippingTest, IsNothingWhereRoundingHurtsMore) {
  calibrate(0.5F);
  EXPECT_FALSE(worst_clipping(sim_, {"x", "r"}, search_));
}

TEST_F(ClippingTest, AQualityOutOfReachForWantOfRangeAsksForMoreCalibration) {
  MixOptions options{.candidates = {parse_mix_candidate("W16A16"), parse_mix_candidate("W8A8")},
                     .targets = {parse_mix_target("sqnr>=60")},
                     .frontier_points = 0};
  for (const float divisor : {4.0F, 0.5F}) {
    calibrate(divisor);
    const MixResult r = mix(sim_, *calibration_, search_, nullptr, options);
    if (divisor > 1.0F) {
      EXPECT_THAT(r.infeasible, AllOf(HasSubstr("% of the values of \""),
                                      HasSubstr("calibrate on more samples")));
    } else {
      EXPECT_THAT(r.infeasible, Not(HasSubstr("calibrate on more samples")));
    }
  }
}

}  // namespace
}  // namespace bitsweep::allocate
