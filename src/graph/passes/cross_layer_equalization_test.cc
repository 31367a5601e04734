#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bitsweep/passes.h"
#include "graph/passes/testing/batch_norms.h"

namespace bitsweep::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ModelBuilder;
using ::testing::SizeIs;
using testing::values_of;

/// x -> Conv c0 -> h -> nodes given, which make r -> Conv c1 -> y; 2 channels between, 1x1 kernels.
ModelBuilder pair_with(const std::string& between,
                       const std::string& second = "y = Conv(r, w1, b1) {group: 1, name: \"c1\"}") {
  ModelBuilder m;
  m.input("x", {-1, 1, 4, 4});
  m.floats("w0", {2, 1, 1, 1}, {8, -2}).floats("b0", {2}, {4, 6});
  m.floats("w1", {1, 2, 1, 1}, {2, 8}).floats("b1", {1}, {1});
  m.node("h = Conv(x, w0, b0) {group: 1, name: \"c0\"}");
  m.node(between);
  m.node(second);
  m.output("y", DataType::kFloat);
  return m;
}

TEST(EqualizeCrossLayers, GivesBothLayersTheSameRangePerChannel) {
  const EqualizeResult result = equalize_cross_layers(pair_with("r = Relu(h)").model());
  EXPECT_THAT(values_of(result.model, "w0"), ElementsAre(4, -4));
  EXPECT_THAT(values_of(result.model, "b0"), ElementsAre(2, 12));
  EXPECT_THAT(values_of(result.model, "w1"), ElementsAre(4, 4));
  EXPECT_THAT(values_of(result.model, "b1"), ElementsAre(1));
  ASSERT_THAT(result.sets, SizeIs(1));
  ASSERT_THAT(result.sets[0], SizeIs(1));
  EXPECT_EQ(result.sets[0][0].first, "c0");
  EXPECT_EQ(result.sets[0][0].second, "c1");
  EXPECT_TRUE(result.sets[0][0].activation_between);
  EXPECT_THAT(result.sets[0][0].scale, ElementsAre(2, 0.5));
}

TEST(EqualizeCrossLayers, LeavesAnEmptyChannelAsItIs) {
  ModelBuilder m;
  m.input("x", {-1, 1, 4, 4}).floats("w0", {2, 1, 1, 1}, {0, 2}).floats("w1", {1, 2, 1, 1}, {3, 8});
  m.node("h = Conv(x, w0) {group: 1}")
      .node("y = Conv(h, w1) {group: 1}")
      .output("y", DataType::kFloat);
  const EqualizeResult result = equalize_cross_layers(m.model());
  EXPECT_THAT(values_of(result.model, "w0"), ElementsAre(0, 4));
  EXPECT_THAT(values_of(result.model, "w1"), ElementsAre(3, 4));
}

TEST(EqualizeCrossLayers, ScalesThreeLayersAroundADepthwiseOne) {
  ModelBuilder m;
  m.input("x", {-1, 1, 4, 4}).floats("w0", {2, 1, 1, 1}, {8, 1}).floats("w1", {2, 1, 1, 1}, {1, 1});
  m.floats("w2", {1, 2, 1, 1}, {1, 8});
  m.node("h = Conv(x, w0) {group: 1}")
      .node("r = Conv(h, w1) {group: 2}")
      .node("y = Conv(r, w2) {group: 1}");
  m.output("y", DataType::kFloat);
  const EqualizeResult result = equalize_cross_layers(m.model());
  ASSERT_THAT(result.sets, SizeIs(1));
  EXPECT_THAT(result.sets[0], SizeIs(2));
  for (const char* weight : {"w0", "w1", "w2"}) {
    for (const float w : values_of(result.model, weight)) EXPECT_NEAR(w, 2, 1e-6) << weight;
  }
}

TEST(EqualizeCrossLayers, StopsAtWhatDoesNotCommuteWithAScale) {
  for (const char* between :
       {"r = Sigmoid(h)", "r = Clip(h) {min: 0.0, max: 6.0}", "r = Add(h, b0)"}) {
    ModelBuilder m = pair_with(between);
    if (std::string(between).find("Clip") != std::string::npos) m.opset(10);
    EXPECT_THAT(equalize_cross_layers(m.model()).sets, IsEmpty()) << between;
  }
}

TEST(EqualizeCrossLayers, StopsAtABranch) {
  ModelBuilder m = pair_with("r = Relu(h)");
  m.node("z = Abs(r)").output("z", DataType::kFloat);
  EXPECT_THAT(equalize_cross_layers(m.model()).sets, IsEmpty());
}

TEST(EqualizeCrossLayers, StopsAtAGraphOutputBetween) {
  for (const char* tensor : {"h", "r"}) {
    ModelBuilder m = pair_with("r = Relu(h)");
    m.output(tensor, DataType::kFloat);
    const EqualizeResult result = equalize_cross_layers(m.model());
    EXPECT_THAT(result.sets, IsEmpty()) << tensor;
    EXPECT_THAT(values_of(result.model, "w0"), ElementsAre(8, -2));
  }
}

TEST(EqualizeCrossLayers, LeavesSharedWeightsAlone) {
  ModelBuilder m = pair_with("r = Relu(h)");
  m.node("z = Conv(x, w0) {group: 1}").output("z", DataType::kFloat);
  EXPECT_THAT(equalize_cross_layers(m.model()).sets, IsEmpty());
}

TEST(EqualizeCrossLayers, AnImpliedGroupCountsOnRequest) {
  const Model model = pair_with("r = Relu(h)", "y = Conv(r, w1, b1)").model();
  EXPECT_THAT(equalize_cross_layers(model).sets, IsEmpty());
  EXPECT_THAT(equalize_cross_layers(model, {.implied_group = true}).sets, SizeIs(1));
}

TEST(EqualizeCrossLayers, ReplacesRelu6OnlyOnRequest) {
  ModelBuilder m = pair_with("r = Clip(h) {min: 0.0, max: 6.0, name: \"clip\"}");
  m.opset(10);
  EXPECT_THAT(equalize_cross_layers(m.model()).replaced_clips, IsEmpty());
  const EqualizeResult replaced = equalize_cross_layers(m.model(), {.replace_relu6 = true});
  EXPECT_THAT(replaced.replaced_clips, ElementsAre("clip"));
  EXPECT_THAT(testing::op_types(replaced.model), ElementsAre("Conv", "Relu", "Conv"));
  EXPECT_THAT(replaced.sets, SizeIs(1));
}

/// Conv -> batch norm with a mean far above its deviation -> Relu -> Conv.
ModelBuilder high_bias(const std::string& attributes) {
  ModelBuilder m;
  m.input("x", {-1, 1, 4, 4}).floats("w0", {1, 1, 1, 1}, {1}).floats("b0", {1}, {0});
  m.floats("w1", {1, 1, 1, 1}, {1}).floats("b1", {1}, {1});
  m.floats("g", {1}, {-1}).floats("be", {1}, {10}).floats("mu", {1}, {0}).floats("v", {1}, {1});
  m.node("h = Conv(x, w0, b0) {group: 1}")
      .node("n = BatchNormalization(h, g, be, mu, v) {epsilon: 0.0}");
  m.node("r = Relu(n)")
      .node("y = Conv(r, w1, b1) {group: 1" + attributes + "}")
      .output("y", DataType::kFloat);
  return m;
}

TEST(EqualizeCrossLayers, MovesWhatABiasHasAboveThreeDeviations) {
  const EqualizeResult result = equalize_cross_layers(high_bias("").model());
  ASSERT_THAT(result.sets, SizeIs(1));
  EXPECT_THAT(result.sets[0][0].absorbed, ElementsAre(7));
  EXPECT_THAT(values_of(result.model, "b0"), ElementsAre(3));
  EXPECT_THAT(values_of(result.model, "b1"), ElementsAre(8));
}

TEST(EqualizeCrossLayers, MovesNoBiasAcrossPaddingOrWhenItIsOff) {
  EXPECT_THAT(equalize_cross_layers(high_bias(", pads: [1, 1, 1, 1]").model()).sets[0][0].absorbed,
              IsEmpty());
  EXPECT_THAT(equalize_cross_layers(high_bias("").model(), {.absorb_high_biases = false})
                  .sets[0][0]
                  .absorbed,
              IsEmpty());
}

}  // namespace
}  // namespace bitsweep::graph
