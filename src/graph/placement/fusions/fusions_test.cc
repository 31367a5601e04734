// Nodes that the rules read as one operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/placement/testing/placed.h"

namespace bitsweep::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::Placed;

Placed placed(const ModelBuilder& model, const std::string& pass) {
  return Placed(model,
                {.rules = R"({"extends": "default", "supergroup_pass_list": [")" + pass + "\"]}"});
}

ModelBuilder matmul_add(const Shape& weight, const Shape& bias, bool product_is_output = false) {
  ModelBuilder m;
  m.input("x", {2, 4}).output("y").random("w", weight).random("b", bias);
  m.node("h = MatMul(x, w)").node("y = Add(b, h)");
  if (product_is_output) m.output("h");
  return m;
}

TEST(MatmulAdd, IsReadAsGemm) {
  const Placed p = placed(matmul_add({4, 3}, {3}), "MatmulAdd");
  EXPECT_THAT(p.names(), ElementsAre("w", "b", "x", "y"));
  EXPECT_THAT(p.operator_types(), ElementsAre("Gemm"));
  EXPECT_EQ(p.placement().operators[0].nodes, (std::vector<int>{0, 1}));
  EXPECT_EQ(p.site("b").parameter_kind, "bias");
  EXPECT_TRUE(p.site("w").per_channel);
  EXPECT_EQ(p.skipped("h"), "inside 2 nodes that are read as one Gemm (\"/MatMul+/Add\")");
}

TEST(MatmulAdd, NeedsAVectorBiasAndAPrivateProduct) {
  EXPECT_THAT(placed(matmul_add({4, 3}, {1, 3}), "MatmulAdd").operator_types(),
              ElementsAre("MatMul", "Add"));
  EXPECT_THAT(placed(matmul_add({4, 3}, {}), "MatmulAdd").operator_types(),
              ElementsAre("MatMul", "Add"));
  EXPECT_THAT(placed(matmul_add({4, 3}, {3}), "MaskedSoftmax").operator_types(),
              ElementsAre("MatMul", "Add"));
}

TEST(MatmulAdd, OfABatchOfMatricesKeepsItsNodesButOnlyTheSumIsQuantized) {
  for (const Placed& p : {placed(matmul_add({2, 4, 3}, {3}), "MatmulAdd"),
                          placed(matmul_add({4, 3}, {3}, true), "MatmulAdd")}) {
    EXPECT_THAT(p.names(), ElementsAre("w", "x", "h", "b", "y"));
    EXPECT_FALSE(p.enabled("h"));
    EXPECT_FALSE(p.enabled("b"));
    EXPECT_TRUE(p.enabled("y"));
  }
}

TEST(MatmulAdd, StandsWhereItsLastNodeStands) {
  ModelBuilder m;
  m.input("x", {2, 4}).output("y").output("z").random("w", {4, 3}).random("b", {3});
  m.node("h = MatMul(x, w)").node("z = Elu(x)").node("y = Add(h, b)");
  EXPECT_THAT(placed(m, "MatmulAdd").names(), ElementsAre("w", "b", "x", "z", "y"));
}

// x / sqrt(mean(x^2) + eps), spelled by the caller; the result is "n".
ModelBuilder norm(const std::string& in, const std::string& square,
                  const std::vector<std::string>& divide, const std::string& axes = "[-1]") {
  ModelBuilder m;
  m.opset(17).input("x", {2, 8}).output("y").random("w", {8}).random("b", {8});
  m.floats("two", {}, {2}).floats("eps", {}, {1e-5F}).floats("one", {}, {1});
  if (in == "d") m.node("m = ReduceMean(x) {axes: " + axes + "}").node("d = Sub(x, m)");
  m.node("q = " + square)
      .node("v = ReduceMean(q) {axes: " + axes + "}")
      .node("e = Add(eps, v)")
      .node("s = Sqrt(e)");
  for (const std::string& node : divide) m.node(node);
  return m;
}

TEST(LayerNormalization, HidesItsConstantsHoweverTheyAreWritten) {
  for (const bool as_nodes : {false, true}) {
    ModelBuilder m;
    m.opset(18).input("x", {2, 8}).output("y").random("w", {8}).ints("axes", {1}, {-1});
    if (as_nodes) {
      m.constant("two", testing::tensor({}, std::vector<float>{2}))
          .constant("eps", testing::tensor({}, std::vector<float>{1e-5F}));
    } else {
      m.floats("two", {}, {2}).floats("eps", {}, {1e-5F});
    }
    m.node("m = ReduceMean(x, axes)").node("d = Sub(x, m)").node("q = Pow(d, two)");
    m.node("v = ReduceMean(q, axes)").node("e = Add(v, eps)").node("s = Sqrt(e)");
    m.node("n = Div(d, s)").node("y = Mul(w, n)");
    const Placed p = placed(m, "LayerNormalization");
    EXPECT_THAT(p.names(), ElementsAre("w", "x", "y"));
    EXPECT_THAT(p.skipped("eps"), HasSubstr("read as one LayerNormalization"));
  }
}

TEST(LayerNormalization, IsFoundInEverySpelling) {
  const std::vector<std::vector<std::string>> divisions = {{"n = Div(d, s)"},
                                                           {"r = Reciprocal(s)", "n = Mul(d, r)"},
                                                           {"r = Div(one, s)", "n = Mul(r, d)"}};
  for (const char* square : {"Pow(d, two)", "Mul(d, d)"}) {
    for (const auto& divide : divisions) {
      const Placed p = placed(norm("d", square, divide).node("k = Mul(w, n)").node("y = Add(k, b)"),
                              "LayerNormalization");
      EXPECT_THAT(p.names(), ElementsAre("w", "b", "x", "y"));
      EXPECT_THAT(p.operator_types(), ElementsAre("LayerNormalization"));
      EXPECT_THAT(p.skipped("eps"), HasSubstr("read as one LayerNormalization"));
    }
  }
}

TEST(LayerNormalization, MayLackTheBias) {
  const Placed p =
      placed(norm("d", "Mul(d, d)", {"n = Div(d, s)"}).node("y = Mul(n, w)"), "LayerNormalization");
  EXPECT_THAT(p.names(), ElementsAre("w", "x", "y"));
}

TEST(LayerNormalization, NeedsTheSquareAndTheLastAxis) {
  const auto types = [](const ModelBuilder& m) {
    return placed(m, "LayerNormalization").operator_types().size();
  };
  const auto affine = [](ModelBuilder m) {
    return std::move(m.node("k = Mul(n, w)").node("y = Add(k, b)"));
  };
  EXPECT_EQ(types(affine(norm("d", "Pow(d, two)", {"n = Div(d, s)"}))), 1U);
  EXPECT_EQ(types(affine(norm("d", "Pow(d, one)", {"n = Div(d, s)"}))), 9U);
  EXPECT_EQ(types(affine(norm("d", "Pow(d, two)", {"n = Div(d, s)"}, "[0]"))), 9U);
  EXPECT_EQ(types(affine(norm("d", "Pow(d, two)", {"n = Div(d, s)"})).output("n")), 9U);
}

TEST(RmsNormalization, IsFoundWithAndWithoutWeight) {
  const Placed with =
      placed(norm("x", "Pow(x, two)", {"n = Div(x, s)"}).node("y = Mul(n, w)"), "RMSNormalization");
  EXPECT_THAT(with.names(), ElementsAre("w", "x", "y"));
  EXPECT_THAT(with.operator_types(), ElementsAre("RMSNormalization"));
  const Placed bare =
      placed(norm("x", "Mul(x, x)", {"r = Reciprocal(s)", "y = Mul(x, r)"}), "RMSNormalization");
  EXPECT_THAT(bare.names(), ElementsAre("x", "y"));
}

TEST(RmsNormalization, KeepsItsOutputQuantizerInFrontOfAnotherMul) {
  const Placed p = placed(
      norm("x", "Pow(x, two)", {"n = Div(x, s)"}).node("k = Mul(n, w)").node("y = Mul(k, b)"),
      "RMSNormalization");
  EXPECT_TRUE(p.enabled("k"));
}

TEST(RmsNormalization, DoesNotTakeWhatALayerNormalizationHolds) {
  ModelBuilder m = norm("d", "Mul(d, d)", {"n = Div(d, s)"});
  m.node("y = Mul(n, w)");
  const Placed p(m, {.rules = R"({"extends": "default",
      "supergroup_pass_list": ["RMSNormalization", "LayerNormalization"]})"});
  EXPECT_THAT(p.operator_types(), ElementsAre("LayerNormalization"));
}

ModelBuilder masked_softmax(float depth) {
  ModelBuilder m;
  m.opset(17).input("x", {1, 2, 4, 4}).input("mask", {1, 1, 4, 4}, DataType::kBool).output("y");
  m.floats("c", {}, {depth});
  m.node("r = ReduceMin(x) {axes: [-1]}")
      .node("t = Add(r, c)")
      .node("h = Where(mask, x, t)")
      .node("y = Softmax(h)");
  return m;
}

TEST(MaskedSoftmax, HidesTheMaskingWhenItIsDeepEnough) {
  EXPECT_THAT(placed(masked_softmax(-1000), "MaskedSoftmax").names(), ElementsAre("x", "y"));
  EXPECT_THAT(placed(masked_softmax(-10), "MaskedSoftmax").names(),
              ElementsAre("x", "r", "c", "t", "h", "y"));
}

}  // namespace
}  // namespace bitsweep::graph
