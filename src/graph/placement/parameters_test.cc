// Which static tensors are parameters, and along which axis their channels lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/placement/testing/placed.h"

namespace bitsweep::graph {
namespace {

using testing::ModelBuilder;
using testing::Placed;

struct Axes {
  int channel;
  int block;
  bool operator==(const Axes&) const = default;
};

Axes axes_of(const Placed& placed, const std::string& tensor) {
  EXPECT_EQ(placed.site(tensor).role, TensorRole::kParameter) << tensor;
  return {placed.site(tensor).channel_axis, placed.site(tensor).block_axis};
}

TEST(Parameters, AxesFollowTheOperator) {
  ModelBuilder m;
  m.input("x", {1, 4, 8, 8}).input("v", {1, 4}).output("y").output("z").output("u").output("t");
  m.random("wc", {6, 4, 3, 3})
      .random("wt", {4, 6, 3, 3})
      .random("wg", {4, 6})
      .random("wh", {6, 4})
      .random("wm", {2, 4, 6});
  m.random("b", {6});
  m.node("y = Conv(x, wc, b)")
      .node("z = ConvTranspose(x, wt)")
      .node("u = Gemm(v, wg)")
      .node("t = MatMul(v, wm)");
  m.node("s = Gemm(v, wh) {transB: 1}").output("s");
  const Placed placed(m, {.rules = "default"});
  EXPECT_EQ(axes_of(placed, "wc"), (Axes{0, 1}));
  EXPECT_EQ(axes_of(placed, "wt"), (Axes{1, 0}));
  EXPECT_EQ(axes_of(placed, "wg"), (Axes{1, 0}));
  EXPECT_EQ(axes_of(placed, "wh"), (Axes{0, 1}));
  EXPECT_EQ(axes_of(placed, "wm"), (Axes{2, 1}));
  EXPECT_EQ(axes_of(placed, "b"), (Axes{0, -1}));
  for (const char* weight : {"wc", "wt", "wg", "wh", "wm"})
    EXPECT_TRUE(placed.site(weight).per_channel) << weight;
}

TEST(Parameters, AreFoundBehindTransposeAndIdentity) {
  ModelBuilder m;
  m.input("x", {1, 4}).output("y").output("z").random("w", {6, 4}).random("v", {4, 6});
  m.node("t = Transpose(w)").node("y = MatMul(x, t)");
  m.node("i = Identity(v)")
      .node("j = Transpose(i) {perm: [1, 0]}")
      .node("z = Gemm(x, j) {transB: 1}");
  const Placed placed(m, {.rules = "default"});
  EXPECT_EQ(axes_of(placed, "w"), (Axes{0, 1}));
  EXPECT_EQ(axes_of(placed, "v"), (Axes{1, 0}));
}

TEST(Parameters, BehindTransposeAreSetByTheRuleOfTheirKind) {
  ModelBuilder m;
  m.input("x", {2, 4}).output("y").random("w", {3, 4});
  m.node("t = Transpose(w) {perm: [1, 0]}").node("y = MatMul(x, t)");
  const Placed p(
      m, {.rules = R"({"extends": "default", "params": {"weight": {"is_symmetric": "False"}}})"});
  EXPECT_FALSE(p.site("w").symmetric);
}

TEST(Parameters, WeightBehindOtherOperatorsIsAnActivation) {
  ModelBuilder m;
  m.input("x", {1, 4}).output("y").random("w", {24}).ints("s", {2}, {4, 6});
  m.node("r = Reshape(w, s)").node("y = MatMul(x, r)");
  const Placed placed(m);
  EXPECT_EQ(placed.site("w").role, TensorRole::kActivation);
  EXPECT_TRUE(placed.site("w").symmetric);  // it plays the part of a weight
}

TEST(Parameters, SharedWithAnotherKindOfOperatorStaysAParameter) {
  ModelBuilder m;
  m.input("ids", {2}, DataType::kInt64).output("y").random("w", {9, 4});
  m.node("e = Gather(w, ids)").node("t = Transpose(w) {perm: [1, 0]}").node("y = MatMul(e, t)");
  const Placed placed(m, {.rules = "default"});
  EXPECT_EQ(axes_of(placed, "w"), (Axes{0, 1}));
  EXPECT_TRUE(placed.site("w").per_channel);
  EXPECT_TRUE(placed.input_quantizers().empty());
}

TEST(Parameters, SharedAlongTwoAxesArePerTensor) {
  ModelBuilder m;
  m.input("x", {1, 4}).output("y").random("w", {4, 4});
  m.node("h = Gemm(x, w)").node("y = Gemm(h, w) {transB: 1}");
  const Placed placed(m, {.rules = "default"});
  EXPECT_EQ(axes_of(placed, "w"), (Axes{-1, -1}));
  EXPECT_FALSE(placed.site("w").per_channel);
}

TEST(Parameters, OfRecurrentOperatorsArePerTensorAndSayWhy) {
  ModelBuilder m;
  m.input("x", {3, 1, 2}).output("y").random("w", {1, 8, 2}).random("r", {1, 8, 2});
  m.node("y = LSTM(x, w, r) {hidden_size: 2}");
  const Placed placed(
      m,
      {.rules =
           R"({"extends": "per_tensor", "op_type": {"LSTM": {"per_channel_quantization": "True"}}})"});
  EXPECT_EQ(placed.site("r").parameter_kind, "weight_r");
  EXPECT_FALSE(placed.site("w").per_channel);
  EXPECT_THAT(placed.site("w").reason,
              ::testing::HasSubstr("the weight of LSTM has no channel axis"));
}

TEST(Parameters, OtherStaticInputsAreActivations) {
  ModelBuilder m;
  m.input("x", {1, 4}).output("y").random("slope", {4});
  m.node("y = PRelu(x, slope)");
  const Placed placed(m, {.rules = "default", .activations = {.bitwidth = 16}});
  EXPECT_EQ(placed.site("slope").role, TensorRole::kActivation);
  EXPECT_EQ(placed.site("slope").format.bitwidth, 16);
  EXPECT_FALSE(placed.site("slope").per_channel);
}

}  // namespace
}  // namespace bitsweep::graph
