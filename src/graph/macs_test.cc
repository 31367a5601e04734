#include "graph/macs.h"

#include <gtest/gtest.h>

#include "graph/testing/model_builder.h"

namespace bitsweep::graph {
namespace {

using testing::ModelBuilder;

/// The graph of one node "y = ..." with observed shapes.
struct OneNode {
  explicit OneNode(const std::string& node,
                   const std::vector<std::pair<std::string, Shape>>& inputs,
                   const std::vector<std::pair<std::string, Shape>>& weights, const Shape& y)
      : graph(make(node, inputs, weights)) {
    for (const auto& [name, shape] : inputs) graph.set_shape(graph.find(name), shape);
    graph.set_shape(graph.find("y"), y);
  }

  static Model make(const std::string& node,
                    const std::vector<std::pair<std::string, Shape>>& inputs,
                    const std::vector<std::pair<std::string, Shape>>& weights) {
    ModelBuilder m;
    for (const auto& [name, shape] : inputs) m.input(name, shape);
    for (const auto& [name, shape] : weights) m.random(name, shape);
    m.node(node).output("y");
    return m.model();
  }

  std::int64_t macs() const { return macs_of(graph, 0); }

  Graph graph;
};

TEST(Macs, OfConvolutions) {
  EXPECT_EQ(OneNode("y = Conv(x, w) {pads: [1, 1, 1, 1]}", {{"x", {1, 8, 8, 8}}},
                    {{"w", {8, 8, 3, 3}}}, {1, 8, 8, 8})
                .macs(),
            36864);
  EXPECT_EQ(OneNode("y = Conv(x, w) {group: 8}", {{"x", {2, 8, 6, 6}}}, {{"w", {8, 1, 3, 3}}},
                    {2, 8, 4, 4})
                .macs(),
            2 * 8 * 16 * 9);
  EXPECT_EQ(
      OneNode("y = Conv(x, w) {strides: [2]}", {{"x", {1, 3, 11}}}, {{"w", {5, 3, 3}}}, {1, 5, 5})
          .macs(),
      5 * 5 * 9);
  // Stride 2: every input pixel meets each of the 4 x 3 x 3 weights of its channel once.
  EXPECT_EQ(OneNode("y = ConvTranspose(x, w) {strides: [2, 2]}", {{"x", {1, 6, 5, 5}}},
                    {{"w", {6, 4, 3, 3}}}, {1, 4, 11, 11})
                .macs(),
            6 * 25 * 36);
}

TEST(Macs, OfMatrixProductsWithConstantAndDynamicOperands) {
  EXPECT_EQ(OneNode("y = MatMul(x, w)", {{"x", {2, 5, 16}}}, {{"w", {16, 8}}}, {2, 5, 8}).macs(),
            2 * 5 * 16 * 8);
  EXPECT_EQ(
      OneNode("y = MatMul(a, b)", {{"a", {4, 3, 7, 16}}, {"b", {4, 3, 16, 7}}}, {}, {4, 3, 7, 7})
          .macs(),
      4 * 3 * 7 * 7 * 16);
  EXPECT_EQ(OneNode("y = Gemm(x, w)", {{"x", {3, 12}}}, {{"w", {12, 5}}}, {3, 5}).macs(),
            3 * 12 * 5);
  EXPECT_EQ(
      OneNode("y = Gemm(x, w) {transA: 1, transB: 1}", {{"x", {12, 3}}}, {{"w", {5, 12}}}, {3, 5})
          .macs(),
      3 * 12 * 5);
  EXPECT_EQ(OneNode("y = MatMul(a, b)", {{"a", {16}}, {"b", {16}}}, {}, {}).macs(), 16);
}

TEST(Macs, OfRecurrentLayers) {
  // 4 gates of 20 units over 10 inputs and 20 states, 5 steps of batch 2.
  EXPECT_EQ(OneNode("y = LSTM(x, w, r) {hidden_size: 20}", {{"x", {5, 2, 10}}},
                    {{"w", {1, 80, 10}}, {"r", {1, 80, 20}}}, {5, 1, 2, 20})
                .macs(),
            5 * 2 * 80 * 30);
  EXPECT_EQ(OneNode("y = GRU(x, w, r) {hidden_size: 4, direction: \"bidirectional\"}",
                    {{"x", {3, 1, 6}}}, {{"w", {2, 12, 6}}, {"r", {2, 12, 4}}}, {3, 2, 1, 4})
                .macs(),
            3 * 2 * 12 * 10);
}

TEST(Macs, OfEinsum) {
  EXPECT_EQ(OneNode("y = Einsum(a, b) {equation: \"bij,bjk->bik\"}",
                    {{"a", {2, 3, 4}}, {"b", {2, 4, 5}}}, {}, {2, 3, 5})
                .macs(),
            2 * 3 * 4 * 5);
  EXPECT_EQ(OneNode("y = Einsum(a, b) {equation: \"...ij, jk -> ...ik\"}",
                    {{"a", {7, 2, 3, 4}}, {"b", {4, 5}}}, {}, {7, 2, 3, 5})
                .macs(),
            7 * 2 * 3 * 4 * 5);
  EXPECT_EQ(OneNode("y = Einsum(a) {equation: \"ij->ji\"}", {{"a", {3, 4}}}, {}, {4, 3}).macs(), 0);
}

TEST(Macs, AreZeroForOtherOperatorsConstantsAndUnknownShapes) {
  EXPECT_EQ(OneNode("y = Relu(x)", {{"x", {3, 4}}}, {}, {3, 4}).macs(), 0);
  ModelBuilder constant;
  constant.input("x", {4, 4}).output("y").random("a", {4, 4}).random("b", {4, 4});
  constant.node("c = MatMul(a, b)").node("y = Add(x, c)");
  EXPECT_EQ(macs_of(Graph(constant.model()), 0), 0);
  ModelBuilder m;
  m.input("x", {-1, 4}).random("w", {4, 4}).node("y = MatMul(x, w)").output("y");
  EXPECT_EQ(macs_of(Graph(m.model()), 0), 0);
}

TEST(Cost, GrowsWithWorkAndWithBytes) {
  const OneNode small("y = MatMul(x, w)", {{"x", {1, 64}}}, {{"w", {64, 64}}}, {1, 64});
  const OneNode large("y = MatMul(x, w)", {{"x", {64, 64}}}, {{"w", {64, 64}}}, {64, 64});
  EXPECT_GT(cost_of(large.graph, 0), cost_of(small.graph, 0));
  const OneNode view("y = Flatten(x)", {{"x", {64, 4096}}}, {}, {64, 4096});
  const OneNode move("y = Neg(x)", {{"x", {64, 4096}}}, {}, {64, 4096});
  EXPECT_GT(cost_of(move.graph, 0), 5 * cost_of(view.graph, 0));
  const OneNode dense("y = Conv(x, w)", {{"x", {1, 8, 64, 64}}}, {{"w", {9, 8, 1, 1}}},
                      {1, 9, 64, 64});
  const OneNode depthwise("y = Conv(x, w) {group: 8}", {{"x", {1, 8, 66, 66}}},
                          {{"w", {8, 1, 3, 3}}}, {1, 8, 64, 64});
  EXPECT_GT(cost_of(depthwise.graph, 0), cost_of(dense.graph, 0));
  ModelBuilder constant;
  constant.input("x", {4}).output("y").random("a", {4}).node("c = Neg(a)").node("y = Add(x, c)");
  EXPECT_EQ(cost_of(Graph(constant.model()), 0), 0);
}

}  // namespace
}  // namespace bitsweep::graph
