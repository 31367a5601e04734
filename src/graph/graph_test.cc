#include "graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "bitsweep/error.h"
#include "graph/testing/model_builder.h"
#include "graph/testing/model_builder_impl.h"

namespace bitsweep::graph {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::tensor;

std::vector<std::string> node_names(const Graph& g) {
  std::vector<std::string> names;
  for (const Node& n : g.nodes()) names.push_back(n.name);
  return names;
}

std::string error_of(const ModelBuilder& m) {
  try {
    const Graph g(m.model());
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidModel);
    return e.what();
  }
  return "no error";
}

TEST(Graph, IndexesProducersAndUses) {
  ModelBuilder m;
  m.input("x", {1, 4}).output("y").random("w", {4, 4}, 1);
  m.node("h = MatMul(x, w)").node("r = Relu(h)").node("y = Add(r, h)");
  const Graph g(m.model());
  EXPECT_EQ(g.nodes().size(), 3U);
  const TensorInfo& h = g.tensor(g.find("h"));
  EXPECT_EQ(h.producer, 0);
  ASSERT_EQ(h.uses.size(), 2U);
  EXPECT_EQ(h.uses[1].node, 2);
  EXPECT_EQ(h.uses[1].input, 1);
  EXPECT_TRUE(g.tensor(g.find("x")).is_input);
  EXPECT_TRUE(g.tensor(g.find("y")).is_output);
  EXPECT_TRUE(g.tensor(g.find("w")).is_static);
  EXPECT_EQ(*g.tensor(g.find("w")).shape, Shape({4, 4}));
  EXPECT_THAT(g.inputs(), ElementsAre(g.find("x")));
  EXPECT_EQ(g.find("nothing"), kAbsent);
  EXPECT_EQ(g.find_node("nothing"), -1);
}

TEST(Graph, FillsMissingAndDuplicateNodeNames) {
  ModelBuilder m;
  m.input("x", {4}).output("g");
  m.node("a = Relu(x)").node("b = Relu(a) {name: \"/Relu_1\"}").node("c = Relu(b)");
  m.node("d = Relu(c) {name: \"dup\"}")
      .node("e = Relu(d) {name: \"dup\"}")
      .node("f = Sigmoid(e) {name: \"dup\"}");
  m.node("g = Sigmoid(f)");
  EXPECT_THAT(node_names(Graph(m.model())), ElementsAre("/Relu", "/Relu_1", "/Relu_2", "dup",
                                                        "/Relu_3", "/Sigmoid", "/Sigmoid_1"));
}

TEST(Graph, KeepsTheFileOrderWhenItIsTopologicalAndSortsStablyOtherwise) {
  ModelBuilder ordered;
  ordered.input("x", {4}).output("y");
  ordered.node("a = Relu(x) {name: \"1\"}")
      .node("b = Tanh(x) {name: \"2\"}")
      .node("y = Add(b, a) {name: \"3\"}");
  EXPECT_THAT(node_names(Graph(ordered.model())), ElementsAre("1", "2", "3"));
  ModelBuilder mixed;
  mixed.input("x", {4}).output("y");
  mixed.node("y = Add(b, a) {name: \"3\"}")
      .node("b = Tanh(x) {name: \"2\"}")
      .node("a = Relu(x) {name: \"1\"}");
  const Graph g(mixed.model());
  EXPECT_THAT(node_names(g), ElementsAre("2", "1", "3"));
  EXPECT_EQ(g.tensor(g.find("a")).producer, 1);
  EXPECT_EQ(g.tensor(g.find("a")).uses[0].node, 2);
}

TEST(Graph, EmptyNamesAreAbsentInputsAndOutputs) {
  ModelBuilder m;
  m.input("x", {1, 3, 8, 8}).output("y").floats("max", {}, {6});
  m.node("y = Clip(x, , max)");
  const Graph g(m.model());
  EXPECT_THAT(g.node(0).inputs, ElementsAre(g.find("x"), kAbsent, g.find("max")));
}

TEST(Graph, InitializersListedAsInputsAreStatics) {
  ModelBuilder m;
  m.ir_version(3).input("x", {1, 4}).input("w", {4, 4}).output("y").random("w", {4, 4}, 1);
  m.node("y = MatMul(x, w)");
  const Graph g(m.model());
  EXPECT_THAT(g.inputs(), ElementsAre(g.find("x")));
  EXPECT_TRUE(g.tensor(g.find("w")).is_static);
  EXPECT_FALSE(g.tensor(g.find("w")).is_input);
}

TEST(Graph, ConstantNodesOfEveryFormAreStatics) {
  ModelBuilder m;
  m.input("x", {4}).output("y");
  m.constant("t", tensor({2}, std::vector<float>{1, 2}));
  m.node("f = Constant() {value_float: 2.5}").node("fs = Constant() {value_floats: [1.0, 2.0]}");
  m.node("i = Constant() {value_int: 7}").node("is = Constant() {value_ints: [1, 2, 3]}");
  m.node("s = Constant() {value_string: \"a\"}")
      .node("ss = Constant() {value_strings: [\"a\", \"b\"]}");
  m.node("y = Relu(x)");
  const Graph g(m.model());
  EXPECT_THAT(g.static_value(g.find("t")).floats(), ElementsAre(1, 2));
  EXPECT_THAT(g.static_value(g.find("f")).floats(), ElementsAre(2.5F));
  EXPECT_EQ(g.static_value(g.find("f")).shape(), Shape{});
  EXPECT_THAT(g.static_value(g.find("fs")).floats(), ElementsAre(1, 2));
  EXPECT_EQ(*static_cast<const std::int64_t*>(g.static_value(g.find("i")).data()), 7);
  EXPECT_EQ(g.static_value(g.find("is")).shape(), Shape({3}));
  EXPECT_EQ(g.static_value(g.find("s")).type(), DataType::kString);
  EXPECT_EQ(g.static_value(g.find("ss")).shape(), Shape({2}));
  EXPECT_TRUE(g.node(0).is_constant);
  EXPECT_EQ(g.tensor(g.find("t")).producer, 0);
  EXPECT_FALSE(g.static_value(g.find("x")).defined());
}

TEST(Graph, ConstantChainsAreConstantUnlessTheyDrawNumbersOrRunUnknownCode) {
  ModelBuilder m;
  m.opset(17).opset(1, "my.domain");
  m.input("x", {4, 4}).output("y").random("w", {4, 4}, 1);
  m.node("wt = Transpose(w)")
      .node("wf = my.domain::Foo(w)")
      .node("noise = RandomNormal() {shape: [4, 4]}");
  m.node("a = MatMul(x, wt)").node("b = MatMul(a, wf)").node("y = Add(b, noise)");
  const Graph g(m.model());
  EXPECT_TRUE(g.node(g.find_node("/Transpose")).is_constant);
  EXPECT_FALSE(g.node(g.find_node("/Foo")).is_constant);
  EXPECT_FALSE(g.node(g.find_node("/RandomNormal")).is_constant);
  EXPECT_FALSE(g.tensor(g.find("wt")).is_static);
}

TEST(Graph, SparseInitializersAreRead) {
  ModelBuilder m;
  m.input("x", {1, 2}).output("y").node("y = MatMul(x, w)");
  onnx::SparseTensorProto* s = m.impl().proto.mutable_graph()->add_sparse_initializer();
  s->add_dims(2);
  s->add_dims(2);
  s->mutable_values()->set_name("w");
  s->mutable_values()->set_data_type(1);
  s->mutable_values()->add_dims(1);
  s->mutable_values()->add_float_data(3.0F);
  s->mutable_indices()->set_data_type(7);
  s->mutable_indices()->add_dims(1);
  s->mutable_indices()->add_int64_data(2);
  const Graph g(m.model());
  EXPECT_THAT(g.static_value(g.find("w")).floats(), ElementsAre(0, 0, 3, 0));
}

TEST(Graph, BodiesCaptureOuterTensorsThroughEveryLevel) {
  ModelBuilder inner;
  inner.node("t = MatMul(local, w)").output("t");
  ModelBuilder outer;
  outer.node("local = Relu(h)")
      .node("u = If(c)", {{"then_branch", &inner}, {"else_branch", &inner}})
      .output("u");
  ModelBuilder m;
  m.input("x", {1, 4}).input("c", {}, DataType::kBool).output("y").random("w", {4, 4}, 1);
  m.node("h = Tanh(x)").node("y = If(c)", {{"then_branch", &outer}, {"else_branch", &outer}});
  const Graph g(m.model());
  const Node& node = g.node(1);
  EXPECT_TRUE(node.has_subgraph);
  EXPECT_THAT(node.captured, ElementsAre(g.find("h"), g.find("c"), g.find("w")));
  ASSERT_EQ(g.tensor(g.find("h")).uses.size(), 1U);
  EXPECT_EQ(g.tensor(g.find("h")).uses[0].input, -1);
  EXPECT_EQ(g.find("local"), kAbsent);
}

TEST(Graph, CapturedTensorsOrderTheNodes) {
  ModelBuilder body;
  body.node("t = Relu(h)").output("t");
  ModelBuilder m;
  m.input("x", {1, 4}).input("c", {}, DataType::kBool).output("y");
  m.node("y = If(c) {name: \"if\"}", {{"then_branch", &body}, {"else_branch", &body}});
  m.node("h = Tanh(x) {name: \"tanh\"}");
  EXPECT_THAT(node_names(Graph(m.model())), ElementsAre("tanh", "if"));
}

TEST(Graph, AttributesKeepTheirKinds) {
  ModelBuilder m;
  m.input("x", {1, 4})
      .output("y")
      .node("y = Foo(x) {i: 3, f: 0.5, s: \"same\", is: [1, 2], fs: [1.0], ss: [\"a\"]}");
  const Graph g(m.model());
  const auto& a = g.node(0).attributes;
  EXPECT_EQ(a.at("i").i, 3);
  EXPECT_EQ(a.at("f").f, 0.5F);
  EXPECT_EQ(a.at("s").s, "same");
  EXPECT_THAT(a.at("is").ints, ElementsAre(1, 2));
  EXPECT_THAT(a.at("fs").floats, ElementsAre(1.0F));
  EXPECT_THAT(a.at("ss").strings, ElementsAre("a"));
  EXPECT_EQ(g.node(0).int_attribute("i", 9), 3);
  EXPECT_EQ(g.node(0).int_attribute("f", 9), 9);
}

TEST(Graph, DeclaredTypesAreKnown) {
  ModelBuilder m;
  m.input("x", {1, 4}, DataType::kFloat16)
      .output("y", DataType::kFloat16)
      .value_info("h", {1, 4}, DataType::kFloat16);
  m.node("h = Relu(x)").node("g = Tanh(h)").node("y = Tanh(g)");
  Graph g(m.model());
  EXPECT_EQ(g.tensor(g.find("h")).type, DataType::kFloat16);
  EXPECT_EQ(g.tensor(g.find("y")).type, DataType::kFloat16);
  EXPECT_EQ(g.tensor(g.find("g")).type, DataType::kUndefined);
  EXPECT_FALSE(g.tensor(g.find("x")).shape.has_value());
  g.set_type(g.find("g"), DataType::kFloat16);
  g.set_shape(g.find("g"), {1, 4});
  EXPECT_EQ(*g.tensor(g.find("g")).shape, Shape({1, 4}));
}

TEST(Graph, NodesThatNoOutputNeedsAreDead) {
  ModelBuilder m;
  m.input("x", {1, 4}).output("y");
  m.node("h = Relu(x)").node("d = Tanh(h)").node("e = Exp(d)").node("y = Sigmoid(h)");
  const Graph g(m.model());
  EXPECT_FALSE(g.node(0).is_dead);
  EXPECT_TRUE(g.node(1).is_dead);
  EXPECT_TRUE(g.node(2).is_dead);
  EXPECT_FALSE(g.node(3).is_dead);
}

TEST(Graph, RefusesWhatIsNoGraph) {
  ModelBuilder cycle;
  cycle.input("x", {4}).output("y");
  cycle.node("a = Add(x, b)").node("b = Relu(a)").node("y = Relu(b)");
  EXPECT_THAT(error_of(cycle), AllOf(HasSubstr("cycle"), HasSubstr("\"/"), HasSubstr("tensor \"")));

  ModelBuilder twice;
  twice.input("x", {4}).output("y").node("y = Relu(x)").node("y = Tanh(x)");
  EXPECT_THAT(error_of(twice),
              HasSubstr("tensor \"y\" comes from node \"/Relu\" and from node \"/Tanh\" (Tanh)"));

  ModelBuilder clash;
  clash.input("x", {4}).output("w").floats("w", {1}, {1}).node("w = Relu(x)");
  EXPECT_THAT(error_of(clash), HasSubstr("tensor \"w\" comes from an initializer"));

  ModelBuilder missing;
  missing.input("x", {4}).output("y").node("y = Add(x, gone) {name: \"sum\"}");
  EXPECT_THAT(error_of(missing),
              HasSubstr("node \"sum\" (Add) reads tensor \"gone\", which nobody produces"));

  ModelBuilder body;
  body.node("t = Relu(gone)").output("t");
  ModelBuilder outside;
  outside.input("c", {}, DataType::kBool).output("y");
  outside.node("y = If(c)", {{"then_branch", &body}, {"else_branch", &body}});
  EXPECT_THAT(error_of(outside), HasSubstr("reads tensor \"gone\""));

  ModelBuilder output;
  output.input("x", {4}).output("y").node("z = Relu(x)");
  EXPECT_THAT(error_of(output), HasSubstr("graph output \"y\""));

  ModelBuilder inputs;
  inputs.input("x", {4}).input("x", {4}).output("y").node("y = Relu(x)");
  EXPECT_THAT(error_of(inputs), HasSubstr("two inputs named \"x\""));
}

}  // namespace
}  // namespace bitsweep::graph
