#include "graph/pieces/subgraph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bitsweep/error.h"
#include "graph/pieces/shareable.h"
#include "graph/testing/model_builder.h"
#include "onnx-ml.pb.h"

namespace bitsweep::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::tensor;
using ::testing::UnorderedElementsAre;

onnx::ModelProto parse(const Piece& piece) {
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(piece.bytes));
  return proto;
}

/// "out = Type(in, in)" for each node.
std::vector<std::string> lines(const onnx::GraphProto& g) {
  std::vector<std::string> result;
  const auto join = [](const auto& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  };
  for (const onnx::NodeProto& n : g.node())
    result.push_back(join(n.output()) + " = " + n.op_type() + "(" + join(n.input()) + ")");
  return result;
}

std::vector<std::string> initializer_names(const onnx::GraphProto& g) {
  std::vector<std::string> names;
  for (const onnx::TensorProto& t : g.initializer()) names.push_back(t.name());
  return names;
}

/// x -> MatMul(w1) -> Relu -> MatMul(Transpose(w2)) -> y, with a Transpose of a weight that is
/// constant.
ModelBuilder chain() {
  ModelBuilder m;
  m.input("x", {-1, 4}).output("y", DataType::kFloat).value_info("r", {-1, 4});
  m.random("w1", {4, 4}, 1).random("w2", {4, 4}, 2);
  m.node("h = MatMul(x, w1)")
      .node("r = Relu(h)")
      .node("wt = Transpose(w2)")
      .node("y = MatMul(r, wt)");
  return m;
}

TEST(BuildSubgraph, IdentitiesAreLeftOutUnlessTheyHoldAQuantizer) {
  ModelBuilder m;
  m.input("x", {-1, 4}).output("y").output("i");
  m.node("h = Relu(x)").node("i = Identity(h)").node("j = Identity(i)").node("y = Neg(j)");
  const Graph g(m.model());
  SubgraphSpec spec{
      .nodes = {0, 1, 2, 3}, .inputs = {g.find("x")}, .outputs = {g.find("y"), g.find("i")}};
  const Piece piece = build_subgraph(g, spec);
  EXPECT_THAT(lines(parse(piece).graph()), ElementsAre("h = Relu(x)", "y = Neg(h)"));
  EXPECT_THAT(piece.output_names, ElementsAre("y", "h"));
  spec.quantizers = {{g.find("i"), 0}};
  EXPECT_THAT(lines(parse(build_subgraph(g, spec)).graph()),
              ElementsAre("h = Relu(x)", "bitsweep.raw/i = Identity(h)",
                          "i = FakeQuant(bitsweep.raw/i)", "y = Neg(i)"));
}

TEST(BuildSubgraph, TakesTheConstantNodesItNeedsAndNothingElse) {
  const Graph g(chain().model());
  const Piece piece =
      build_subgraph(g, {.nodes = {3}, .inputs = {g.find("r")}, .outputs = {g.find("y")}});
  const onnx::ModelProto proto = parse(piece);
  EXPECT_THAT(lines(proto.graph()), ElementsAre("wt = Transpose(w2)", "y = MatMul(r, wt)"));
  EXPECT_THAT(initializer_names(proto.graph()), ElementsAre("w2"));
  EXPECT_THAT(piece.input_names, ElementsAre("r"));
  EXPECT_THAT(piece.output_names, ElementsAre("y"));
  EXPECT_TRUE(piece.initializers.empty());
  EXPECT_EQ(proto.graph().input(0).type().tensor_type().elem_type(), 1);
  EXPECT_FALSE(proto.graph().input(0).type().tensor_type().has_shape());
  ASSERT_EQ(proto.opset_import_size(), 2);
  EXPECT_EQ(proto.opset_import(0).version(), 17);
  EXPECT_EQ(proto.opset_import(1).domain(), kQuantizerDomain);
}

TEST(BuildSubgraph, ShapesAreOutputsBehindTheTensors) {
  const Graph g(chain().model());
  const Piece piece = build_subgraph(g, {.nodes = {0, 1, 3},
                                         .inputs = {g.find("x")},
                                         .outputs = {g.find("y")},
                                         .shapes_of = {g.find("h"), g.find("y")}});
  const onnx::GraphProto proto = parse(piece).graph();
  EXPECT_THAT(lines(proto), ElementsAre("h = MatMul(x, w1)", "r = Relu(h)", "wt = Transpose(w2)",
                                        "y = MatMul(r, wt)", "bitsweep.shape/h = Shape(h)",
                                        "bitsweep.shape/y = Shape(y)"));
  EXPECT_THAT(piece.output_names, ElementsAre("y", "bitsweep.shape/h", "bitsweep.shape/y"));
  EXPECT_EQ(proto.output(1).type().tensor_type().elem_type(), onnx::TensorProto::INT64);
}

TEST(BuildSubgraph, AConstantTensorListedAsInputIsBoundFromOutside) {
  Graph g(chain().model());
  g.set_type(g.find("wt"), DataType::kFloat);
  const Piece piece = build_subgraph(g, {.nodes = {0, 1, 3},
                                         .inputs = {g.find("x"), g.find("wt"), g.find("w1")},
                                         .outputs = {g.find("y")}});
  const onnx::ModelProto proto = parse(piece);
  EXPECT_THAT(lines(proto.graph()),
              ElementsAre("h = MatMul(x, w1)", "r = Relu(h)", "y = MatMul(r, wt)"));
  EXPECT_EQ(proto.graph().initializer_size(), 0);
  EXPECT_THAT(piece.input_names, ElementsAre("x", "wt", "w1"));
  EXPECT_EQ(proto.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "d0");
  EXPECT_EQ(proto.graph().input(2).type().tensor_type().shape().dim(1).dim_value(), 4);
}

TEST(BuildSubgraph, LargeWeightsArePassedByPointer) {
  const Graph g(chain().model());
  const Piece piece =
      build_subgraph(g, {.nodes = {0}, .inputs = {g.find("x")}, .outputs = {g.find("h")}}, 64);
  ASSERT_EQ(piece.initializers.size(), 1U);
  EXPECT_EQ(piece.initializers[0].name, "w1");
  EXPECT_TRUE(piece.initializers[0].value.equal_bits(g.static_value(g.find("w1"))));
  const onnx::TensorProto t = parse(piece).graph().initializer(0);
  EXPECT_EQ(t.data_location(), onnx::TensorProto::EXTERNAL);
  EXPECT_EQ(t.external_data(0).value(), kWeightsLocation);
  EXPECT_FALSE(t.has_raw_data());
  EXPECT_TRUE(
      build_subgraph(g, {.nodes = {0}, .inputs = {g.find("x")}, .outputs = {g.find("h")}}, 65)
          .initializers.empty());
}

// Weights of a product and a table are used where they are; a filter is laid out anew; what a
// constant node reads is folded, as are rows whose numbers only depend on shapes.
TEST(BuildSubgraph, TellsWhichWeightsSessionsMayShare) {
  ModelBuilder m;
  m.input("x", {1, 4, 4, 4}).input("i", {2}, DataType::kInt64).random("w", {4, 4}, 1);
  m.random("table", {9, 4}, 2).random("filter", {4, 4, 1, 1}, 3).random("turned", {4, 4}, 4);
  m.random("places", {9, 4}, 5).ints("one", {1}, {1});
  m.node("c = Conv(x, filter)").node("y = MatMul(c, w)").node("z = Gather(table, i)");
  m.node("t = Transpose(turned)").node("v = MatMul(y, t)").output("v").output("z");
  m.node("s = Shape(x)")
      .node("k = Slice(s, one, one, one)")
      .node("p = Gather(places, k)")
      .output("p");
  Graph g(m.model());
  g.set_type(g.find("c"), DataType::kFloat);
  EXPECT_TRUE(is_shareable(g, g.find("w")));
  EXPECT_TRUE(is_shareable(g, g.find("table")));
  EXPECT_FALSE(is_shareable(g, g.find("places")));
  EXPECT_FALSE(is_shareable(g, g.find("filter")));
  EXPECT_FALSE(is_shareable(g, g.find("turned")));
  SubgraphSpec spec{.nodes = {1}, .inputs = {g.find("c")}, .outputs = {g.find("y")}};
  EXPECT_TRUE(build_subgraph(g, spec, 1).initializers.at(0).shareable);
  spec.replaced[g.find("w")] = g.static_value(g.find("w"));
  EXPECT_FALSE(build_subgraph(g, spec, 1).initializers.at(0).shareable);
}

TEST(BuildSubgraph, ReplacedValuesWin) {
  const Graph g(chain().model());
  const Tensor baked = tensor({4, 4}, std::vector<float>(16, 0.5F));
  SubgraphSpec spec{.nodes = {0}, .inputs = {g.find("x")}, .outputs = {g.find("h")}};
  spec.replaced[g.find("w1")] = baked;
  const Piece piece = build_subgraph(g, spec, 1);
  ASSERT_EQ(piece.initializers.size(), 1U);
  EXPECT_EQ(piece.initializers[0].value.data(), baked.data());
  spec.replaced[g.find("w1")] = tensor({16}, std::vector<float>(16));
  EXPECT_THROW(build_subgraph(g, spec), Error);
}

TEST(BuildSubgraph, EveryReaderAndTheOutputSeeTheQuantizedValue) {
  ModelBuilder m;
  m.input("x", {1, 4}).output("h").output("y").random("w", {4, 4}, 1);
  m.node("h = MatMul(x, w)").node("a = Relu(h)").node("b = Tanh(h)").node("y = Add(a, b)");
  const Graph g(m.model());
  const SubgraphSpec spec{
      .nodes = {0, 1, 2, 3},
      .inputs = {g.find("x")},
      .outputs = {g.find("h"), g.find("y")},
      .quantizers = {{g.find("x"), 0, false}, {g.find("w"), 1, false}, {g.find("h"), 2, true}},
      .state_input = true};
  const Piece piece = build_subgraph(g, spec);
  const onnx::ModelProto proto = parse(piece);
  EXPECT_THAT(lines(proto.graph()),
              ElementsAre("bitsweep.quantized/x = FakeQuant(x, bitsweep.state)",
                          "w = FakeQuant(bitsweep.raw/w, bitsweep.state)",
                          "bitsweep.raw/h = MatMul(bitsweep.quantized/x, w)",
                          "h = FakeQuantInPlace(bitsweep.raw/h, bitsweep.state)", "a = Relu(h)",
                          "b = Tanh(h)", "y = Add(a, b)"));
  EXPECT_THAT(piece.output_names, ElementsAre("h", "y"));
  EXPECT_THAT(piece.input_names, ElementsAre("x"));
  ASSERT_EQ(proto.graph().input_size(), 2);
  EXPECT_EQ(proto.graph().input(1).name(), piece.state_input);
  EXPECT_EQ(proto.graph().input(1).type().tensor_type().elem_type(), 7);
  const onnx::NodeProto& q = proto.graph().node(3);
  EXPECT_EQ(q.domain(), kQuantizerDomain);
  EXPECT_EQ(q.attribute(0).name(), "index");
  EXPECT_EQ(q.attribute(0).i(), 2);
}

TEST(BuildSubgraph, AConstantChainReadsTheQuantizedWeight) {
  const Graph g(chain().model());
  const Piece piece =
      build_subgraph(g, {.nodes = {3},
                         .inputs = {g.find("r")},
                         .outputs = {g.find("y")},
                         .quantizers = {{g.find("w2"), 5, false}, {g.find("wt"), 6, false}}});
  EXPECT_THAT(lines(parse(piece).graph()),
              ElementsAre("w2 = FakeQuant(bitsweep.raw/w2)", "bitsweep.raw/wt = Transpose(w2)",
                          "wt = FakeQuant(bitsweep.raw/wt)", "y = MatMul(r, wt)"));
}

TEST(BuildSubgraph, OutputsThatAreInputsPassThroughANode) {
  const Graph g(chain().model());
  const TensorId r = g.find("r");
  const Piece plain =
      build_subgraph(g, {.nodes = {3}, .inputs = {r}, .outputs = {r, g.find("y"), g.find("w1")}});
  EXPECT_THAT(lines(parse(plain).graph()),
              ElementsAre("wt = Transpose(w2)", "y = MatMul(r, wt)",
                          "bitsweep.passed/r = Identity(r)", "bitsweep.passed/w1 = Identity(w1)"));
  EXPECT_THAT(plain.output_names, ElementsAre("bitsweep.passed/r", "y", "bitsweep.passed/w1"));
  const Piece quantized = build_subgraph(
      g, {.nodes = {3}, .inputs = {r}, .outputs = {r, g.find("y")}, .quantizers = {{r, 0, false}}});
  EXPECT_THAT(lines(parse(quantized).graph()),
              ElementsAre("bitsweep.quantized/r = FakeQuant(r)", "wt = Transpose(w2)",
                          "y = MatMul(bitsweep.quantized/r, wt)"));
  EXPECT_THAT(quantized.output_names, ElementsAre("bitsweep.quantized/r", "y"));
}

TEST(BuildSubgraph, AnInputThatThePieceAlsoMakesIsTakenFromOutside) {
  ModelBuilder m;
  m.input("x", {1, 4}).output("y").value_info("a", {1, 2});
  m.node("a, b = Split(x) {axis: 1}").node("y = Add(a, b)");
  const Graph g(m.model());
  const Piece piece = build_subgraph(
      g, {.nodes = {0, 1}, .inputs = {g.find("x"), g.find("a")}, .outputs = {g.find("y")}});
  EXPECT_THAT(lines(parse(piece).graph()),
              ElementsAre("bitsweep.unused/a, b = Split(x)", "y = Add(a, b)"));
}

TEST(BuildSubgraph, BodiesReadTheQuantizedTensors) {
  ModelBuilder body;
  body.random("own", {4, 4}, 7)
      .node("p = MatMul(h, w)")
      .node("q = MatMul(p, own)")
      .node("t = Add(q, x)")
      .output("t");
  ModelBuilder m;
  m.input("x", {1, 4}).input("c", {}, DataType::kBool).output("y").random("w", {4, 4}, 1);
  m.node("h = Tanh(x)").node("y = If(c)", {{"then_branch", &body}, {"else_branch", &body}});
  const Graph g(m.model());
  const TensorId x = g.find("x");
  const TensorId h = g.find("h");
  const Piece piece = build_subgraph(g, {.nodes = {0, 1},
                                         .inputs = {x, g.find("c")},
                                         .outputs = {g.find("y")},
                                         .quantizers = {{x, 0, false}, {h, 1, false}}});
  const onnx::ModelProto proto = parse(piece);
  EXPECT_THAT(lines(proto.graph()), ElementsAre("bitsweep.quantized/x = FakeQuant(x)",
                                                "bitsweep.raw/h = Tanh(bitsweep.quantized/x)",
                                                "h = FakeQuant(bitsweep.raw/h)", "y = If(c)"));
  EXPECT_THAT(initializer_names(proto.graph()), ElementsAre("w"));
  for (const onnx::AttributeProto& a : proto.graph().node(3).attribute()) {
    EXPECT_THAT(lines(a.g()), ElementsAre("p = MatMul(h, w)", "q = MatMul(p, own)",
                                          "t = Add(q, bitsweep.quantized/x)"));
    EXPECT_EQ(a.g().initializer(0).raw_data().size(), 64U);
  }
}

TEST(BuildSubgraph, NamesInBodiesShadowThoseOutside) {
  ModelBuilder body;
  body.input("x", {4}).node("t = Relu(x)").output("t");
  ModelBuilder m;
  m.input("x", {1, 4}).output("y").node("y = Scan(x) {num_scan_inputs: 1}", {{"body", &body}});
  const Graph g(m.model());
  EXPECT_TRUE(g.node(0).captured.empty());
  const Piece piece = build_subgraph(g, {.nodes = {0},
                                         .inputs = {g.find("x")},
                                         .outputs = {g.find("y")},
                                         .quantizers = {{g.find("x"), 0, false}}});
  const onnx::ModelProto proto = parse(piece);
  EXPECT_THAT(lines(proto.graph().node(1).attribute(1).g()), ElementsAre("t = Relu(x)"));
}

TEST(BuildSubgraph, LargeWeightsOfBodiesAreInTheBytes) {
  ModelBuilder body;
  body.random("own", {32, 32}, 7).node("t = MatMul(x, own)").output("t");
  ModelBuilder m;
  m.input("x", {1, 32}).input("c", {}, DataType::kBool).output("y");
  m.node("y = If(c)", {{"then_branch", &body}, {"else_branch", &body}});
  const Graph g(m.model());
  const Piece piece = build_subgraph(
      g, {.nodes = {0}, .inputs = {g.find("x"), g.find("c")}, .outputs = {g.find("y")}});
  const onnx::TensorProto t = parse(piece).graph().node(0).attribute(0).g().initializer(0);
  EXPECT_EQ(t.raw_data().size(), 4096U);
  EXPECT_EQ(t.external_data_size(), 0);
}

TEST(BuildSubgraph, StaticShapesWriteWhatWasObserved) {
  Graph g(chain().model());
  g.set_shape(g.find("r"), {3, 4});
  const SubgraphSpec spec{
      .nodes = {3}, .inputs = {g.find("r")}, .outputs = {g.find("y")}, .static_shapes = true};
  const onnx::ModelProto proto = parse(build_subgraph(g, spec));
  EXPECT_EQ(proto.graph().input(0).type().tensor_type().shape().dim(0).dim_value(), 3);
}

TEST(BuildSubgraph, InputsKeepTheInferredShape) {
  Graph g(chain().model());
  g.set_inferred_shape(g.find("r"), {{-1, "rows"}, {4, ""}, {-1, ""}});
  const onnx::ModelProto proto =
      parse(build_subgraph(g, {.nodes = {3}, .inputs = {g.find("r")}, .outputs = {g.find("y")}}));
  const onnx::TensorShapeProto& shape = proto.graph().input(0).type().tensor_type().shape();
  ASSERT_EQ(shape.dim_size(), 3);
  EXPECT_EQ(shape.dim(0).dim_param(), "rows");
  EXPECT_EQ(shape.dim(1).dim_value(), 4);
  EXPECT_EQ(shape.dim(2).value_case(), onnx::TensorShapeProto::Dimension::VALUE_NOT_SET);
}

TEST(BuildSubgraph, BlockedInputsPassThroughANodeThatChangesNoValue) {
  for (const std::int64_t channels : {16, 24}) {
    ModelBuilder m;
    m.input("x", {1, channels, 4, 4}).output("y").random("w", {channels, channels, 1, 1});
    m.node("a = Relu(x)").node("c = Conv(a, w)").node("y = Add(c, a)");
    Graph g(m.model());
    g.set_type(g.find("a"), DataType::kFloat);
    g.set_shape(g.find("a"), {1, channels, 4, 4});
    const SubgraphSpec spec{.nodes = {1, 2},
                            .inputs = {g.find("a")},
                            .outputs = {g.find("y")},
                            .blocked = {g.find("a")}};
    EXPECT_THAT(lines(parse(build_subgraph(g, spec)).graph()),
                ElementsAre(channels == 16 ? "bitsweep.blocked/a = MaxPool(a)"
                                           : "bitsweep.blocked/a = Conv(a, bitsweep.ones/a)",
                            "c = Conv(bitsweep.blocked/a, w)", "y = Add(c, bitsweep.blocked/a)"));
  }
}

TEST(BuildSubgraph, HiddenNamesAvoidTheModelsNames) {
  ModelBuilder m;
  m.input("bitsweep.quantized/x", {4})
      .input("x", {4})
      .output("y")
      .node("y = Add(x, bitsweep.quantized/x)");
  const Graph g(m.model());
  const Piece piece = build_subgraph(g, {.nodes = {0},
                                         .inputs = g.inputs(),
                                         .outputs = {g.find("y")},
                                         .quantizers = {{g.find("x"), 0, false}}});
  EXPECT_THAT(lines(parse(piece).graph()),
              ElementsAre("bitsweep.quantized/x_ = FakeQuant(x)",
                          "y = Add(bitsweep.quantized/x_, bitsweep.quantized/x)"));
}

TEST(BuildSubgraph, StringConstantsComeAlong) {
  ModelBuilder m;
  m.input("x", {1}, DataType::kString).output("y");
  m.node("s = Constant() {value_strings: [\"a\"]}").node("y = StringConcat(x, s)");
  const Graph g(m.model());
  const Piece piece =
      build_subgraph(g, {.nodes = {1}, .inputs = {g.find("x")}, .outputs = {g.find("y")}});
  EXPECT_THAT(lines(parse(piece).graph()), ElementsAre("s = Constant()", "y = StringConcat(x, s)"));
}

TEST(BuildSubgraph, DeadNodesComeOnlyWhenAsked) {
  ModelBuilder m;
  m.input("x", {1, 4}).output("y").floats("unused", {1}, {1});
  m.node("h = Relu(x)").node("d = Tanh(h)").node("e = Exp(d)").node("y = Sigmoid(h)");
  const Graph g(m.model());
  SubgraphSpec spec{.nodes = {0, 1, 2, 3}, .inputs = {g.find("x")}, .outputs = {g.find("y")}};
  spec.quantizers = {{g.find("d"), 0, false}, {g.find("unused"), 1, false}};
  EXPECT_THAT(lines(parse(build_subgraph(g, spec)).graph()),
              ElementsAre("h = Relu(x)", "y = Sigmoid(h)"));
  spec.outputs = {g.find("y"), g.find("e")};
  EXPECT_THAT(lines(parse(build_subgraph(g, spec)).graph()),
              ElementsAre("h = Relu(x)", "bitsweep.raw/d = Tanh(h)",
                          "d = FakeQuant(bitsweep.raw/d)", "e = Exp(d)", "y = Sigmoid(h)"));
}

std::string error_of(const Graph& g, const SubgraphSpec& spec) {
  try {
    build_subgraph(g, spec);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

/// A hard swish in single operators behind a convolution.
ModelBuilder hard_swish() {
  ModelBuilder m;
  m.input("x", {1, 2, 4, 4}).random("w", {2, 2, 1, 1}).output("y");
  m.floats("three", {}, {3.0F}).floats("zero", {}, {0.0F}).floats("six", {1}, {6.0F});
  m.node("c = Conv(x, w)").node("a = Add(c, three)").node("k = Clip(a, zero, six)");
  m.node("p = Mul(c, k)").node("d = Div(p, six)").node("y = Relu(d)");
  return m;
}

std::vector<std::string> fused_lines(const Graph& g, const std::vector<std::string>& quantized) {
  SubgraphSpec spec;
  for (int n = 0; n < static_cast<int>(g.nodes().size()); ++n) spec.nodes.push_back(n);
  spec.inputs = g.inputs();
  spec.outputs = g.outputs();
  spec.state_input = true;
  spec.fuse_elementwise = true;
  for (const std::string& name : quantized)
    spec.quantizers.push_back(
        {g.find(name), static_cast<int>(spec.quantizers.size()), name == "c"});
  return lines(parse(build_subgraph(g, spec)).graph());
}

Graph with_types(const ModelBuilder& m, const std::vector<std::string>& names, int rank) {
  Graph g(m.model());
  for (const std::string& name : names) {
    g.set_type(g.find(name), DataType::kFloat);
    g.set_inferred_shape(g.find(name), std::vector<Dimension>(static_cast<std::size_t>(rank)));
  }
  return g;
}

TEST(BuildSubgraph, QuantizersAndTheArithmeticBetweenThemBecomeOneNode) {
  const std::vector<std::string> all = {"c", "a", "k", "p", "d", "y"};
  const Graph g = with_types(hard_swish(), all, 4);
  EXPECT_THAT(fused_lines(g, all),
              ElementsAre("bitsweep.raw/c = Conv(x, w)",
                          "y = ElementwiseInPlace(bitsweep.raw/c, bitsweep.state)"));
}

TEST(BuildSubgraph, OnlyWhatLiesBetweenQuantizersIsFused) {
  const std::vector<std::string> all = {"c", "a", "k", "p", "d", "y"};
  const Graph g = with_types(hard_swish(), all, 4);
  // The runtime may fuse what stands in front of the first quantizer, and so it must stay.
  EXPECT_THAT(
      fused_lines(g, {"k", "d", "y"}),
      ElementsAre("c = Conv(x, w)", "a = Add(c, three)", "bitsweep.raw/k = Clip(a, zero, six)",
                  "k = FakeQuant(bitsweep.raw/k, bitsweep.state)", "p = Mul(c, k)",
                  "bitsweep.raw/d = Div(p, six)",
                  "y = Elementwise(bitsweep.raw/d, bitsweep.state)"));
}

TEST(BuildSubgraph, AValueThatOthersReadEndsAFusion) {
  ModelBuilder m = hard_swish();
  m.output("k");
  const Graph g = with_types(m, {"c", "a", "k", "p", "d", "y"}, 4);
  EXPECT_THAT(fused_lines(g, {"c", "a", "k", "d", "y"}),
              ElementsAre("bitsweep.raw/c = Conv(x, w)",
                          "c = FakeQuantInPlace(bitsweep.raw/c, bitsweep.state)",
                          "k = Elementwise(c, bitsweep.state)", "p = Mul(c, k)",
                          "bitsweep.raw/d = Div(p, six)",
                          "y = Elementwise(bitsweep.raw/d, bitsweep.state)"));
}

TEST(BuildSubgraph, AConstantThatMayRaiseTheRankIsNotFused) {
  const std::vector<std::string> all = {"c", "a", "k", "p", "d", "y"};
  const Graph g = with_types(hard_swish(), all, 0);  // no rank for the divisor of shape [1]
  EXPECT_THAT(fused_lines(g, all), ::testing::Contains("bitsweep.raw/d = Div(p, six)"));
}

TEST(BuildSubgraph, RefusesIncompletePieces) {
  ModelBuilder m;
  m.input("x", {1, 4}).output("y").random("w", {4, 4}, 1);
  m.node("h = MatMul(x, w) {name: \"first\"}").node("y = Relu(h) {name: \"second\"}");
  const Graph g(m.model());
  EXPECT_THAT(error_of(g, {.nodes = {1}, .inputs = {g.find("x")}, .outputs = {g.find("y")}}),
              HasSubstr("needs tensor \"h\" for node \"second\""));
  EXPECT_THAT(error_of(g, {.nodes = {0}, .inputs = {g.find("x")}, .outputs = {g.find("y")}}),
              HasSubstr("needs tensor \"y\" for its outputs"));
  EXPECT_THAT(error_of(g, {.nodes = {1}, .inputs = {g.find("h")}, .outputs = {g.find("y")}}),
              HasSubstr("element type of tensor \"h\""));
  EXPECT_THAT(error_of(g, {.nodes = {0},
                           .inputs = {g.find("x")},
                           .outputs = {g.find("h")},
                           .quantizers = {{g.find("y"), 0, false}}}),
              HasSubstr("tensor \"y\", which is not in the piece"));
}

}  // namespace
}  // namespace bitsweep::graph
