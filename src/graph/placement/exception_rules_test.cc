#include <gtest/gtest.h>

#include "graph/placement/testing/placed.h"

namespace bitsweep::graph {
namespace {

using testing::ModelBuilder;
using testing::Placed;

ModelBuilder layer_norm() {
  ModelBuilder m;
  m.opset(17).input("x", {2, 8}).output("y").random("w", {8}).node("y = LayerNormalization(x, w)");
  return m;
}

ModelBuilder instance_norm() {
  ModelBuilder m;
  m.input("x", {1, 4, 8})
      .output("y")
      .random("w", {4})
      .random("b", {4})
      .node("y = InstanceNormalization(x, w, b)");
  return m;
}

TEST(ExceptionRules, LayerNormWeightHasAtLeast8BitsAndIsSymmetricFrom16) {
  const Placed narrow(layer_norm(), {.rules = "default", .parameters = {.bitwidth = 4}});
  EXPECT_EQ(narrow.site("w").format.bitwidth, 8);
  EXPECT_FALSE(narrow.site("w").symmetric);
  const Placed wide(layer_norm(), {.rules = "default", .parameters = {.bitwidth = 16}});
  EXPECT_EQ(wide.site("w").format.bitwidth, 16);
  EXPECT_TRUE(wide.site("w").symmetric);
}

TEST(ExceptionRules, LayerNormWeightHas8BitsOnEarlyHardware) {
  const Placed placed(layer_norm(), {.rules = "htp_v69", .parameters = {.bitwidth = 16}});
  EXPECT_EQ(placed.site("w").format.bitwidth, 8);
  EXPECT_FALSE(placed.site("w").symmetric);
}

TEST(ExceptionRules, InstanceNormWeightFollowsTheOutput) {
  const Placed placed(instance_norm(), {.rules = "enpu_v6", .activations = {.bitwidth = 16}});
  EXPECT_EQ(placed.site("w").format.bitwidth, 16);
  EXPECT_TRUE(placed.site("w").symmetric);
  EXPECT_EQ(placed.site("b").format.bitwidth, 8);  // off, so nothing asks for a width
}

TEST(ExceptionRules, InstanceNormWeightFollowsTheWidthOfAFloatOutputToo) {
  const Format half{.kind = Format::Kind::kFloat16, .bitwidth = 16};
  const Placed placed(instance_norm(), {.rules = "default", .activations = half});
  EXPECT_EQ(placed.site("w").format, Format::integer(16));
}

TEST(ExceptionRules, FloatParametersOfNormsStayFloat) {
  const Format half{.kind = Format::Kind::kFloat16, .bitwidth = 16};
  const Placed placed(layer_norm(), {.rules = "default", .parameters = half, .activations = half});
  EXPECT_EQ(placed.site("w").format, half);
}

ModelBuilder matmul_of_activations() {
  ModelBuilder m;
  m.input("a", {4, 4})
      .input("b", {4, 4})
      .output("y")
      .node("t = Transpose(b)")
      .node("y = MatMul(a, t)");
  return m;
}

TEST(ExceptionRules, AWeightComputedAtRunTimeIsSymmetricLikeAWeight) {
  const Placed placed(matmul_of_activations(), {.rules = "default"});
  EXPECT_TRUE(placed.site("b").symmetric);
  EXPECT_FALSE(placed.site("a").symmetric);
  const Placed asymmetric(matmul_of_activations(), {.rules = R"({"extends": "default", "op_type": {
      "MatMul": {"params": {"weight": {"is_symmetric": "False"}}}}})"});
  EXPECT_FALSE(asymmetric.site("b").symmetric);
}

TEST(ExceptionRules, MatmulOfActivationsFollowsTheHardware) {
  const Placed early(matmul_of_activations(),
                     {.rules = "htp_v68", .activations = {.bitwidth = 16}});
  EXPECT_EQ(early.site("a").format.bitwidth, 16);
  EXPECT_EQ(early.site("b").format.bitwidth, 8);
  EXPECT_TRUE(early.site("b").symmetric);
  const Placed late(matmul_of_activations(), {.rules = "htp_v79", .activations = {.bitwidth = 16}});
  EXPECT_EQ(late.site("b").format.bitwidth, 16);
  EXPECT_TRUE(late.site("b").symmetric);
  EXPECT_EQ(late.site("a").format.bitwidth, 16);
}

TEST(ExceptionRules, AStaticWeightBehindTransposeKeepsItsWidth) {
  ModelBuilder m;
  m.input("x", {4, 4})
      .output("y")
      .random("w", {4, 4})
      .node("t = Transpose(w)")
      .node("y = MatMul(x, t)");
  EXPECT_EQ(
      Placed(m, {.rules = "htp_v66", .parameters = {.bitwidth = 4}}).site("w").format.bitwidth, 4);
  EXPECT_EQ(
      Placed(m, {.rules = "htp_v79", .parameters = {.bitwidth = 16}}).site("x").format.bitwidth, 8);
}

TEST(ExceptionRules, GroupedTransposedConvolutionIsPerTensor) {
  ModelBuilder m;
  m.input("x", {1, 4, 8, 8}).output("y").random("w", {4, 3, 3, 3}).random("b", {6});
  m.node("y = ConvTranspose(x, w, b) {group: 2}");
  const Placed placed(m, {.rules = "default"});
  EXPECT_FALSE(placed.site("w").per_channel);
  EXPECT_TRUE(placed.site("b").per_channel);
}

}  // namespace
}  // namespace bitsweep::graph
