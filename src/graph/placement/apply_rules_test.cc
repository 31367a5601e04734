// What the sections of a rules file do, and which one has the last word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bitsweep/error.h"
#include "graph/placement/testing/placed.h"

namespace bitsweep::graph {
namespace {

using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::Placed;

std::string with(const std::string& sections) {
  return R"({"extends": "per_tensor", )" + sections + "}";
}

ModelBuilder conv_relu(const std::string& middle = "h") {
  ModelBuilder m;
  m.input("x", {1, 3, 8, 8}).output("y").random("w", {4, 3, 3, 3}).random("b", {4});
  m.node(middle + " = Conv(x, w, b)").node("y = Relu(" + middle + ")");
  return m;
}

TEST(ApplyRules, DefaultsQuantizeOutputsInputsAndWeightsButNotBiases) {
  const Placed placed(conv_relu());
  EXPECT_TRUE(placed.enabled("x"));
  EXPECT_TRUE(placed.enabled("y"));
  EXPECT_TRUE(placed.enabled("w"));
  EXPECT_FALSE(placed.enabled("b"));
  EXPECT_TRUE(placed.site("w").symmetric);
  EXPECT_FALSE(placed.site("y").symmetric);
  EXPECT_EQ(placed.site("b").reason, "params.bias.is_quantized");
  EXPECT_EQ(placed.site("x").reason, "model_input.is_input_quantized");
}

TEST(ApplyRules, AnEmptyFileQuantizesNothing) {
  const Placed placed(
      conv_relu(), {.rules = R"({"defaults": {"ops": {}, "params": {}}, "params": {}, "op_type": {},
      "supergroups": [], "model_input": {}, "model_output": {}})"});
  for (const Site& site : placed.placement().sites) EXPECT_FALSE(site.enabled);
}

TEST(ApplyRules, FlagsAndFormatsReachEverySite) {
  const Placed placed(
      conv_relu(), {.rules = with(R"("defaults": {"strict_symmetric": "True", "unsigned_symmetric":
      "True", "ops": {"is_symmetric": "True"}})"),
                    .parameters = {.bitwidth = 4},
                    .activations = {.bitwidth = 16}});
  for (const Site& site : placed.placement().sites) {
    EXPECT_TRUE(site.strict_symmetric);
    EXPECT_TRUE(site.unsigned_symmetric);
    EXPECT_TRUE(site.symmetric);
    EXPECT_EQ(site.format.bitwidth, site.role == TensorRole::kParameter ? 4 : 16);
  }
}

TEST(ApplyRules, OperatorTypeOverrulesKindOverrulesDefault) {
  const Placed placed(conv_relu(),
                      {.rules = with(R"("params": {"weight": {"is_symmetric": "False"}},
      "op_type": {"Conv": {"params": {"bias": {"is_quantized": "True"}}}})")});
  EXPECT_FALSE(placed.site("w").symmetric);
  EXPECT_TRUE(placed.enabled("b"));
  EXPECT_EQ(placed.site("b").reason, "op_type.Conv.params.bias.is_quantized");
}

TEST(ApplyRules, DataMovementIsOffUnlessTheFileNamesIt) {
  ModelBuilder m;
  m.input("x", {1, 1, 4, 4}).output("y").node("y = MaxPool(x) {kernel_shape: [2, 2]}");
  EXPECT_FALSE(Placed(m).enabled("y"));
  EXPECT_THAT(Placed(m).site("y").reason, HasSubstr("MaxPool moves data"));
  EXPECT_TRUE(Placed(m, {.rules = with(R"("op_type": {"MaxPool": {}})")}).enabled("y"));
}

TEST(ApplyRules, InputRuleOfAnOperatorReachesWhatItReads) {
  ModelBuilder m;
  m.input("x", {1, 4}).output("y").random("k", {4});
  m.node("h = Elu(x)").node("y = Mul(h, k)");
  const Placed placed(
      m, {.rules = R"({"defaults": {"ops": {}, "params": {}}, "params": {}, "supergroups": [],
      "op_type": {"Mul": {"is_input_quantized": "True"}}, "model_input": {}, "model_output": {}})"});
  EXPECT_TRUE(placed.enabled("h"));
  EXPECT_TRUE(placed.enabled("k"));
  EXPECT_FALSE(placed.enabled("x"));
  EXPECT_FALSE(placed.enabled("y"));
}

TEST(ApplyRules, InputsAmongTheDefaultsReachGraphInputs) {
  const Placed placed(
      conv_relu(), {.rules = R"({"defaults": {"ops": {"is_input_quantized": "True"}, "params": {}},
      "params": {}, "op_type": {}, "supergroups": [], "model_input": {}, "model_output": {}})"});
  EXPECT_TRUE(placed.enabled("x"));
  EXPECT_TRUE(placed.enabled("h"));
  EXPECT_FALSE(placed.enabled("y"));
}

TEST(ApplyRules, TwoRulesOfOneLevelMustAgree) {
  try {
    const Placed placed(conv_relu(),
                        {.rules = with(R"("op_type": {"Conv": {"is_output_quantized": "False"},
        "Relu": {"is_input_quantized": "True"}})")});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidData);
    EXPECT_STREQ(error.what(),
                 "rules \"test\": tensor \"h\" shall be quantized by "
                 "op_type.Relu.is_input_quantized and not by "
                 "op_type.Conv.is_output_quantized; make the two rules agree or drop one");
  }
}

TEST(ApplyRules, AFixedRangeAroundZeroMakesTheGridSymmetric) {
  ModelBuilder m;
  m.input("x", {4}).output("y").output("z").node("y = Tanh(x)").node("z = Sigmoid(x)");
  const Placed placed(m, {.rules = "htp_v79"});
  EXPECT_EQ(placed.site("y").fixed_range,
            (std::pair<std::optional<double>, std::optional<double>>{-1.0, 1.0}));
  EXPECT_TRUE(placed.site("y").symmetric);
  EXPECT_FALSE(placed.site("z").symmetric);
}

TEST(ApplyRules, ModelInputFalseLeavesInputsAndConstantsInFloat) {
  ModelBuilder m;
  m.input("x", {4}).output("y").random("k", {4}).node("y = Mul(x, k)");
  const Placed placed(m, {.rules = with(R"("model_input": {"is_input_quantized": "False"})")});
  EXPECT_FALSE(placed.enabled("x"));
  EXPECT_FALSE(placed.enabled("k"));
  EXPECT_TRUE(placed.enabled("y"));
}

TEST(ApplyRules, ModelOutputReachesTheLastOperatorsOnly) {
  ModelBuilder m;
  m.input("x", {1, 1, 4, 4})
      .output("y")
      .output("h")
      .node("h = Elu(x)")
      .node("y = MaxPool(h) {kernel_shape: [2, 2]}");
  const Placed on(m, {.rules = with(R"("model_output": {"is_output_quantized": "True"})")});
  EXPECT_TRUE(on.enabled("y"));
  const Placed off(m, {.rules = with(R"("model_output": {"is_output_quantized": "False"})")});
  EXPECT_FALSE(off.enabled("y"));
  EXPECT_TRUE(off.enabled("h"));
}

TEST(ApplyRules, AnOutputThatOnlyBodiesReadCountsAsTheModels) {
  ModelBuilder then_body;
  then_body.output("a", DataType::kFloat).node("a = Neg(h)");
  ModelBuilder else_body;
  else_body.output("b", DataType::kFloat).node("b = Abs(h)");
  ModelBuilder m;
  m.input("x", {2}).input("c", {}, DataType::kBool).output("y").node("h = Elu(x)");
  m.node("y = If(c)", {{"then_branch", &then_body}, {"else_branch", &else_body}});
  const Placed off(m, {.rules = with(R"("model_output": {"is_output_quantized": "False"})")});
  EXPECT_FALSE(off.enabled("h"));
}

TEST(ApplyRules, PerChannelOfAnOperatorTypeOverrulesTheDefault) {
  const char* rules = R"("defaults": {"per_channel_quantization": "True"},
                         "op_type": {"Gemm": {"per_channel_quantization": "False"}})";
  ModelBuilder m;
  m.input("x", {1, 4}).output("y").random("w", {4, 4}).random("v", {4, 4});
  m.node("h = Gemm(x, w)").node("y = MatMul(h, v)");
  const Placed placed(m, {.rules = with(rules)});
  EXPECT_FALSE(placed.site("w").per_channel);
  EXPECT_TRUE(placed.site("v").per_channel);
}

}  // namespace
}  // namespace bitsweep::graph
