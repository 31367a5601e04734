// Which tensors have a quantizer, and in which order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bitsweep/error.h"
#include "graph/placement/testing/placed.h"

namespace bitsweep::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::Placed;

TEST(Sites, ComeAsParametersThenInputsThenNodesInOrder) {
  ModelBuilder m;
  m.input("x", {1, 3, 8, 8})
      .output("y")
      .random("w", {4, 3, 3, 3})
      .random("b", {4})
      .random("k", {4, 1, 1});
  m.node("h = Conv(x, w, b)").node("y = Mul(h, k)");
  const Placed placed(m);
  EXPECT_THAT(placed.names(), ElementsAre("w", "b", "x", "h", "k", "y"));
  EXPECT_THAT(placed.input_quantizers(), ElementsAre("k"));
  EXPECT_EQ(placed.site("w").role, TensorRole::kParameter);
  EXPECT_EQ(placed.site("b").parameter_kind, "bias");
  EXPECT_EQ(placed.site("k").role, TensorRole::kActivation);
}

TEST(Sites, LeaveDataMovementOutAndSayWhy) {
  ModelBuilder m;
  m.input("x", {1, 4}).output("y").ints("s", {1}, {4});
  m.node("r = Reshape(x, s)").node("y = Elu(r)");
  const Placed placed(m);
  EXPECT_THAT(placed.names(), ElementsAre("x", "y"));
  EXPECT_EQ(placed.skipped("r"), "Reshape moves data: its output keeps the grid of its input");
  EXPECT_EQ(placed.skipped("s"), "");
}

TEST(Sites, AreOnFloatingPointTensorsOnly) {
  ModelBuilder m;
  m.input("ids", {2}, DataType::kInt64).output("y").random("table", {5, 4});
  m.node("e = Gather(table, ids)").node("d = Cast(e) {to: 11}").node("y = Cast(d) {to: 1}");
  const Placed placed(m, {.types = {{"d", DataType::kDouble}}});
  EXPECT_THAT(placed.names(), ElementsAre("table", "y"));
  EXPECT_EQ(placed.skipped("d"), "no quantizer for float64 values");
}

TEST(Sites, AnInputThatNobodyReadsIsOff) {
  ModelBuilder m;
  m.input("x", {4}).input("z", {4}).output("y").node("y = Elu(x)");
  const Placed placed(m);
  EXPECT_FALSE(placed.enabled("z"));
  EXPECT_EQ(placed.site("z").reason, "nobody reads it");
}

TEST(Sites, ListTensorsOfUnknownType) {
  ModelBuilder m;
  m.input("x", {4}).output("y").node("y = Elu(x)");
  const Placed placed(m, {.types = {{"y", DataType::kUndefined}}});
  EXPECT_EQ(placed.skipped("y"), "its element type is not known");
}

TEST(Sites, TakeOnlyTheDataInputOfResize) {
  ModelBuilder m;
  m.input("x", {1, 1, 2, 2}).output("y").floats("scales", {4}, {1, 1, 2, 2});
  m.node("y = Resize(x, , scales) {mode: \"nearest\"}");
  const Placed placed(m);
  EXPECT_THAT(placed.names(), ElementsAre("x", "y"));
  EXPECT_THAT(placed.skipped("scales"), HasSubstr("a setting of Resize"));
}

TEST(Sites, TakeNoScalesOfResizeWhereverTheyComeFrom) {
  ModelBuilder m;
  m.input("x", {1, 1, 2, 2}).input("fed", {4}).input("half", {4}).output("y").output("z");
  m.node("y = Resize(x, , fed) {mode: \"nearest\"}");
  m.node("computed = Add(half, half)").node("z = Resize(y, , computed) {mode: \"nearest\"}");
  const Placed placed(m);
  EXPECT_THAT(placed.names(), ElementsAre("x", "half", "y", "z"));
  EXPECT_THAT(placed.skipped("fed"), HasSubstr("a setting of Resize"));
  EXPECT_THAT(placed.skipped("computed"), HasSubstr("a setting of Resize"));
}

TEST(Sites, ConstantOutputsCountAsConstantsNotAsInputs) {
  ModelBuilder m;
  m.input("x", {2}).output("y");
  m.constant("k", testing::tensor({2}, std::vector<float>{1, 2})).node("y = Mul(x, k)");
  const Placed placed(m);
  EXPECT_THAT(placed.names(), ElementsAre("x", "k", "y"));
  EXPECT_THAT(placed.input_quantizers(), ElementsAre());
  EXPECT_TRUE(placed.enabled("k"));
  EXPECT_THAT(placed.operator_types(), ElementsAre("Mul"));
}

TEST(Sites, ListWhatIsInsideBodies) {
  ModelBuilder body;
  body.output("inner", DataType::kFloat).random("own", {2});
  body.node("z = Mul(x, w)").node("inner = Add(z, own)");
  ModelBuilder other;
  other.output("inner2", DataType::kFloat).node("inner2 = Neg(x)");
  ModelBuilder m;
  m.input("x", {2}).input("c", {}, DataType::kBool).output("y").random("w", {2});
  m.node("h = If(c) {name: \"choice\"}", {{"then_branch", &body}, {"else_branch", &other}})
      .node("y = Elu(h)");
  const Placed placed(m);
  EXPECT_THAT(placed.names(), ElementsAre("x", "h", "y"));
  EXPECT_EQ(placed.skipped("inner"), "inside the body of If \"choice\": bodies stay in float");
  EXPECT_EQ(placed.skipped("own"), "inside the body of If \"choice\": bodies stay in float");
  EXPECT_EQ(placed.skipped("w"), "read only inside the body of If \"choice\"");
  EXPECT_FALSE(placed.enabled("x"));
  EXPECT_EQ(placed.site("x").reason, "read only inside of bodies, which stay in float");
}

TEST(Sites, NothingIsPlacedAroundDeadNodes) {
  ModelBuilder m;
  m.input("x", {1, 4}).output("y").random("w", {4, 4}).random("v", {4, 4}).random("s", {4});
  m.node("y = MatMul(x, w)").node("d = MatMul(x, v)").node("e = Add(d, s)");
  const Placed placed(m);
  EXPECT_THAT(placed.names(), ElementsAre("w", "x", "y"));
  for (const char* tensor : {"v", "d", "s", "e"})
    EXPECT_EQ(placed.skipped(tensor), "no output of the model needs it") << tensor;
}

TEST(Sites, AWeightThatADeadNodeSharesStays) {
  ModelBuilder m;
  m.input("x", {1, 4}).output("y").random("w", {4, 4});
  m.node("d = MatMul(x, w)").node("y = MatMul(x, w)");
  EXPECT_THAT(Placed(m).names(), ElementsAre("w", "x", "y"));
}

TEST(Sites, EveryFloatTensorHasASiteOrAReason) {
  ModelBuilder m;
  m.input("x", {1, 4}).output("y").random("w", {4, 4}).random("b", {4}).random("unused", {4});
  m.node("t = Transpose(w) {perm: [1, 0]}")
      .node("p = MatMul(x, t)")
      .node("h = Add(p, b)")
      .node("y = Identity(h)");
  const Placed placed(m);
  for (const TensorInfo& info : placed.graph().tensors()) {
    EXPECT_NE(placed.has_site(info.name), !placed.skipped(info.name).empty()) << info.name;
  }
  for (const Site& site : placed.placement().sites) EXPECT_FALSE(site.reason.empty());
  EXPECT_EQ(placed.skipped("unused"), "nobody reads it");
}

TEST(Sites, RefuseAModelThatIsQuantizedAlready) {
  ModelBuilder m;
  m.input("x", {4}).output("y").floats("s", {}, {1});
  m.node("q = QuantizeLinear(x, s)").node("y = DequantizeLinear(q, s)");
  try {
    const Placed placed(m);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidModel);
    EXPECT_THAT(error.what(), HasSubstr("quantized already: it has a QuantizeLinear"));
  }
}

TEST(Sites, TakeAModelThatComputesAScale) {
  ModelBuilder m;
  m.input("x", {4}).output("y");
  m.node("s = ReduceMax(x)").node("q = QuantizeLinear(x, s)").node("y = DequantizeLinear(q, s)");
  const Placed placed(m);
  EXPECT_TRUE(placed.has_site("x"));
  EXPECT_TRUE(placed.has_site("y"));
}

}  // namespace
}  // namespace bitsweep::graph
