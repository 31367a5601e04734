#include "graph/bodies/inline_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bitsweep/error.h"
#include "graph/bodies/inlined_functions.h"
#include "graph/graph.h"
#include "graph/testing/model_builder.h"

namespace bitsweep::graph {
namespace {

using ::testing::ElementsAre;
using testing::ModelBuilder;

std::vector<std::string> ops(const Graph& g) {
  std::vector<std::string> types;
  for (const Node& n : g.nodes()) types.push_back(n.op_type);
  return types;
}

TEST(Functions, AreInlinedNestedWithUniqueNames) {
  ModelBuilder inner;
  inner.opset(17).node("t = Mul(a, a)").node("b = Relu(t)");
  ModelBuilder outer;
  outer.opset(17).opset(1, "f").node("t = f::Inner(p)").node("q = f::Inner(t)");
  ModelBuilder m;
  m.opset(17).opset(1, "f");
  m.input("x", {4}).output("y");
  m.function("b = f::Inner(a)", inner).function("q = f::Outer(p)", outer);
  m.node("t = f::Outer(x)").node("y = f::Outer(t)");
  const Graph g(m.model());
  EXPECT_THAT(ops(g), ElementsAre("Mul", "Relu", "Mul", "Relu", "Mul", "Relu", "Mul", "Relu"));
  EXPECT_THAT(inlined_functions(g), ElementsAre("f::Inner", "f::Outer"));
  EXPECT_EQ(g.tensor(g.find("y")).producer, 7);
  EXPECT_EQ(g.tensor(g.find("t")).producer, 3);  // the caller's t, not one of the functions'
}

TEST(Functions, BindAttributesFromTheCallOrTheDefault) {
  ModelBuilder body;
  body.opset(17).node("b = Softmax(a) {axis: @which}");
  ModelBuilder m;
  m.opset(17).opset(1, "f").input("x", {4, 4}).output("z");
  m.function("b = f::Soft(a) {which: 1}", body);
  m.node("y = f::Soft(x)").node("z = f::Soft(y) {which: 0}");
  const Graph g(m.model());
  EXPECT_EQ(g.node(0).int_attribute("axis", -9), 1);
  EXPECT_EQ(g.node(1).int_attribute("axis", -9), 0);
}

TEST(Functions, UnsetAttributesWithoutDefaultFallAway) {
  ModelBuilder body;
  body.opset(17).node("b = Softmax(a) {axis: @which}");
  ModelBuilder m;
  m.opset(17).opset(1, "f").input("x", {4, 4}).output("y");
  m.function("b = f::Soft(a)", body, {"which"}).node("y = f::Soft(x)");
  const Graph g(m.model());
  EXPECT_EQ(g.node(0).int_attribute("axis", -9), -9);
}

TEST(Functions, AbsentInputsStayAbsentAndPassedInputsGetAnIdentity) {
  ModelBuilder body;
  body.opset(17).node("c = Clip(a, lo, hi)");
  ModelBuilder m;
  m.opset(17).opset(1, "f").input("x", {4}).floats("six", {}, {6}).output("y").output("z");
  m.function("c, a = f::Limit(a, lo, hi)", body).node("y, z = f::Limit(x, , six)");
  const Graph g(m.model());
  EXPECT_THAT(ops(g), ElementsAre("Clip", "Identity"));
  EXPECT_THAT(g.node(0).inputs, ElementsAre(g.find("x"), kAbsent, g.find("six")));
  EXPECT_THAT(g.node(1).inputs, ElementsAre(g.find("x")));
  EXPECT_THAT(g.node(1).outputs, ElementsAre(g.find("z")));
}

TEST(Functions, AreInlinedInsideBodiesAndTheirBodiesCaptureOuterTensors) {
  ModelBuilder branch;
  branch.node("r = Relu(t)").output("r");
  ModelBuilder body;
  body.opset(17)
      .node("t = Tanh(a)")
      .node("b = If(c)", {{"then_branch", &branch}, {"else_branch", &branch}});
  ModelBuilder caller;
  caller.node("u = f::Choose(h, c)").output("u");
  ModelBuilder m;
  m.opset(17).opset(1, "f").input("x", {4}).input("c", {}, DataType::kBool).output("y");
  m.function("b = f::Choose(a, c)", body);
  m.node("h = Sigmoid(x)").node("y = If(c)", {{"then_branch", &caller}, {"else_branch", &caller}});
  const Graph g(m.model());
  EXPECT_THAT(ops(g), ElementsAre("Sigmoid", "If"));
  EXPECT_THAT(g.node(1).captured, ElementsAre(g.find("h"), g.find("c")));
}

TEST(Functions, OfAnotherOperatorSetStayCalls) {
  ModelBuilder body;
  body.opset(13).node("b = Relu(a)");
  ModelBuilder m;
  m.opset(17).opset(1, "f").input("x", {4}).output("y");
  m.function("b = f::Old(a)", body).node("y = f::Old(x)");
  EXPECT_THAT(ops(Graph(m.model())), ElementsAre("Old"));
}

TEST(Functions, ThatCallThemselvesAreRefused) {
  ModelBuilder body;
  body.opset(17).opset(1, "f").node("b = f::Loop(a)");
  ModelBuilder m;
  m.opset(17).opset(1, "f").input("x", {4}).output("y");
  m.function("b = f::Loop(a)", body).node("y = f::Loop(x)");
  try {
    const Graph g(m.model());
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("function \"Loop\" of domain \"f\" calls itself"));
  }
}

}  // namespace
}  // namespace bitsweep::graph
