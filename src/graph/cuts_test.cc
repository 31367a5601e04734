#include "graph/cuts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/testing/model_builder.h"

namespace bitsweep::graph {
namespace {

using ::testing::ElementsAre;
using testing::ModelBuilder;

/// Names of the nodes that a clean cut lies in front of.
std::vector<std::string> clean_before(const Graph& g) {
  const std::vector<int> order = non_constant_nodes(g);
  std::vector<std::string> names;
  for (const CutCandidate& cut : cut_candidates(g)) {
    if (cut.clean) names.push_back(g.node(order[static_cast<std::size_t>(cut.position)]).name);
  }
  return names;
}

std::vector<std::string> live(const Graph& g, int position) {
  std::vector<std::string> names;
  const std::vector<CutCandidate> cuts = cut_candidates(g);
  for (const TensorId t : cuts[static_cast<std::size_t>(position)].live)
    names.push_back(g.tensor(t).name);
  return names;
}

TEST(Cuts, LiveTensorsAreThoseThatTheSuffixNeeds) {
  ModelBuilder m;
  m.input("x", {1, 4}).input("late", {1, 4}).output("early").output("y").random("w", {4, 4});
  m.node("early = MatMul(x, w)").node("wt = Transpose(w)").node("b = MatMul(early, wt)");
  m.node("c = Relu(b)").node("dead = Exp(b)").node("d = Add(c, b)").node("y = Mul(d, late)");
  const Graph g(m.model());
  EXPECT_EQ(non_constant_nodes(g).size(), 5U);  // without Transpose and Exp
  EXPECT_THAT(live(g, 0), ElementsAre("x", "late"));
  EXPECT_THAT(live(g, 1), ElementsAre("late", "early"));
  EXPECT_THAT(live(g, 3), ElementsAre("late", "early", "b", "c"));
  EXPECT_THAT(live(g, 4), ElementsAre("late", "early", "d"));
}

TEST(Cuts, BytesNeedEveryShape) {
  ModelBuilder m;
  m.input("x", {-1, 4}).output("y").node("h = Exp(x)").node("y = Exp(h)");
  Graph g(m.model());
  EXPECT_EQ(cut_candidates(g)[1].bytes, -1);
  g.set_type(g.find("h"), DataType::kFloat);
  g.set_shape(g.find("h"), {3, 4});
  EXPECT_EQ(cut_candidates(g)[1].bytes, 48);
}

TEST(Cuts, CapturedTensorsStayLive) {
  ModelBuilder body;
  body.node("t = Exp(h)").output("t");
  ModelBuilder m;
  m.input("x", {1, 4}).input("c", {}, DataType::kBool).output("y");
  m.node("h = MatMul(x, x)")
      .node("k = Exp(c)")
      .node("y = If(k)", {{"then_branch", &body}, {"else_branch", &body}});
  const Graph g(m.model());
  EXPECT_THAT(live(g, 2), ElementsAre("h", "k"));
}

TEST(Cuts, KeepConvolutionsWithNormalisationActivationAndResidual) {
  ModelBuilder m;
  m.input("x", {1, 8, 4, 4}).output("y").random("w", {8, 8, 1, 1}).random("s", {8});
  m.node("c1 = Conv(x, w) {name: \"conv1\"}")
      .node("n1 = BatchNormalization(c1, s, s, s, s) {name: \"norm1\"}");
  m.node("r1 = Relu(n1) {name: \"relu1\"}").node("c2 = Conv(r1, w) {name: \"conv2\"}");
  m.node("a = Add(c2, x) {name: \"add\"}").node("r2 = Clip(a) {name: \"clip\"}");
  m.node("y = Conv(r2, w) {name: \"conv3\"}");
  const Graph g(m.model());
  // Before conv2 the skip link x and the activation are live: allowed, but with twice the bytes.
  EXPECT_THAT(clean_before(g), ElementsAre("conv1", "conv2", "conv3"));
}

TEST(Cuts, KeepGatedActivationsTogether) {
  ModelBuilder m;
  m.input("x", {1, 8, 4, 4}).output("y").random("w", {8, 8, 1, 1});
  m.node("c = Conv(x, w) {name: \"conv1\"}").node("s = Sigmoid(c) {name: \"sigmoid\"}");
  m.node("g = Mul(c, s) {name: \"mul\"}").node("y = Conv(g, w) {name: \"conv2\"}");
  EXPECT_THAT(clean_before(Graph(m.model())), ElementsAre("conv1", "conv2"));
}

TEST(Cuts, KeepTheErfAndTanhFormsOfGelu) {
  ModelBuilder erf;
  erf.input("x", {1, 4, 8}).output("y").random("w", {8, 8}).random("b", {8}).floats("k", {}, {2});
  erf.node("p = MatMul(x, w) {name: \"matmul1\"}").node("h = Add(p, b) {name: \"bias\"}");
  erf.node("d = Div(h, k) {name: \"div\"}")
      .node("e = Erf(d) {name: \"erf\"}")
      .node("o = Add(e, k) {name: \"one\"}");
  erf.node("m = Mul(h, o) {name: \"mul\"}").node("g = Mul(m, k) {name: \"half\"}");
  erf.node("y = MatMul(g, w) {name: \"matmul2\"}");
  EXPECT_THAT(clean_before(Graph(erf.model())), ElementsAre("matmul1", "matmul2"));

  ModelBuilder tanh;
  tanh.input("x", {1, 4, 8}).output("y").random("w", {8, 8}).floats("k", {}, {2});
  tanh.node("h = MatMul(x, w) {name: \"matmul1\"}").node("c = Pow(h, k) {name: \"cube\"}");
  tanh.node("s = Mul(c, k) {name: \"scale\"}").node("a = Add(h, s) {name: \"add\"}");
  tanh.node("u = Mul(a, k) {name: \"scale2\"}").node("t = Tanh(u) {name: \"tanh\"}");
  tanh.node("o = Add(t, k) {name: \"one\"}").node("g = Mul(h, o) {name: \"mul\"}");
  tanh.node("y = MatMul(g, w) {name: \"matmul2\"}");
  EXPECT_THAT(clean_before(Graph(tanh.model())), ElementsAre("matmul1", "matmul2"));
}

TEST(Cuts, LieBehindAnExpensiveNodeAndWhereLeastCrosses) {
  ModelBuilder m;
  m.input("x", {1, 4, 8, 8}).output("y").random("w", {4, 4, 1, 1});
  m.node("h = Conv(x, w) {name: \"conv1\"}").node("e = Exp(h) {name: \"exp\"}");
  m.node("q = Mul(e, h) {name: \"mul\"}").node("p = GlobalMaxPool(q) {name: \"pool\"}");
  m.node("y = Conv(p, w) {name: \"conv2\"}");
  Graph g(m.model());
  for (const auto& [name, size] : {std::pair{"h", 8}, {"e", 8}, {"q", 8}, {"p", 1}, {"y", 1}}) {
    g.set_type(g.find(name), DataType::kFloat);
    g.set_shape(g.find(name), {1, 4, size, size});
  }
  EXPECT_THAT(clean_before(g), ElementsAre("conv1", "exp", "conv2"));
}

TEST(Cuts, KeepADecomposedLayerNormAndTheSumBeforeIt) {
  ModelBuilder m;
  m.input("x", {1, 4, 8}).input("skip", {1, 4, 8}).output("y");
  m.random("w", {8, 8}).random("g", {8}).floats("two", {}, {2}).floats("eps", {}, {1e-5F});
  m.node("p = MatMul(x, w) {name: \"matmul1\"}").node("s = Add(p, skip) {name: \"residual\"}");
  m.node("mean = ReduceMean(s) {name: \"mean\"}").node("c = Sub(s, mean) {name: \"centre\"}");
  m.node("q = Pow(c, two) {name: \"square\"}").node("v = ReduceMean(q) {name: \"variance\"}");
  m.node("e = Add(v, eps) {name: \"eps\"}").node("d = Sqrt(e) {name: \"sqrt\"}");
  m.node("n = Div(c, d) {name: \"div\"}")
      .node("h = Mul(n, g) {name: \"scale\"}")
      .node("o = Add(h, g) {name: \"shift\"}");
  m.node("y = MatMul(o, w) {name: \"matmul2\"}");
  EXPECT_THAT(clean_before(Graph(m.model())), ElementsAre("matmul1", "matmul2"));
}

TEST(Cuts, InAPreNormBlockLieBeforeTheNormAndNotBehindIt) {
  ModelBuilder m;
  m.input("x", {1, 4, 8}).output("y").random("w", {8, 8}).random("g", {8});
  m.node("a = MatMul(x, w) {name: \"matmul1\"}").node("s = Add(a, x) {name: \"residual1\"}");
  m.node("n = LayerNormalization(s, g) {name: \"norm\"}")
      .node("b = MatMul(n, w) {name: \"matmul2\"}");
  m.node("y = Add(b, s) {name: \"residual2\"}");
  EXPECT_THAT(clean_before(Graph(m.model())), ElementsAre("matmul1", "norm"));
}

TEST(Cuts, KeepScoresSoftmaxAndValuesOfAnAttention) {
  ModelBuilder m;
  m.input("x", {1, 4, 8})
      .input("mask", {1, 4})
      .output("y")
      .random("w", {8, 8})
      .floats("k", {}, {2});
  m.node("q = MatMul(x, w) {name: \"q\"}").node("k1 = MatMul(x, w) {name: \"k\"}");
  m.node("kt = Transpose(k1) {name: \"transpose\"}").node("s = MatMul(q, kt) {name: \"scores\"}");
  m.node("d = Div(s, k) {name: \"scale\"}").node("e = Add(d, mask) {name: \"mask\"}");
  m.node("p = Softmax(e) {name: \"softmax\"}").node("v = MatMul(x, w) {name: \"v\"}");
  m.node("o = MatMul(p, v) {name: \"values\"}").node("y = MatMul(o, w) {name: \"out\"}");
  const std::vector<std::string> clean = clean_before(Graph(m.model()));
  EXPECT_THAT(clean, ElementsAre("q", "k", "transpose", "out"));
}

TEST(Cuts, LookThroughIdentities) {
  ModelBuilder m;
  m.input("x", {1, 8, 4, 4}).output("y").random("w", {8, 8, 1, 1}).random("b", {8, 1, 1});
  m.node("c = Conv(x, w) {name: \"conv1\"}").node("i = Identity(c) {name: \"same1\"}");
  m.node("s = Add(i, b) {name: \"bias\"}").node("j = Identity(s) {name: \"same2\"}");
  m.node("r = Relu(j) {name: \"relu\"}").node("y = Conv(r, w) {name: \"conv2\"}");
  EXPECT_THAT(clean_before(Graph(m.model())), ElementsAre("conv1", "conv2"));
}

TEST(Cuts, EarlyOutputsDoNotSpoilLaterCuts) {
  ModelBuilder m;
  m.input("x", {1, 8}).output("early").output("y").random("w", {8, 8});
  m.node("h = MatMul(x, w) {name: \"a\"}").node("early = Sigmoid(h) {name: \"sigmoid\"}");
  m.node("b = MatMul(h, w) {name: \"b\"}").node("y = MatMul(b, w) {name: \"c\"}");
  EXPECT_THAT(clean_before(Graph(m.model())), ElementsAre("a", "b", "c"));
}

}  // namespace
}  // namespace bitsweep::graph
