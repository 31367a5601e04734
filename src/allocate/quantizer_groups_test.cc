#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bitsweep/allocation.h"
#include "graph/testing/model_builder.h"

namespace bitsweep {
namespace {

using graph::testing::ModelBuilder;
using ::testing::ElementsAre;

/// "{a,b|w}" per group: activations, then parameters.
std::vector<std::string> texts(const std::vector<QuantizerGroup>& groups) {
  const auto joined = [](const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& n : names) text += (text.empty() ? "" : ",") + n;
    return text;
  };
  std::vector<std::string> result;
  for (const QuantizerGroup& g : groups)
    result.push_back("{" + joined(g.activations) + "|" + joined(g.parameters) + "}");
  return result;
}

ModelBuilder two_channels() {
  ModelBuilder m;
  m.input("x", {1, 2, 4, 4});
  m.random("w1", {2, 2, 3, 3}, 1).random("w2", {2, 2, 3, 3}, 2);
  return m;
}

TEST(QuantizerGroups, ActivationAndTheWeightsItMeetsAreOneGroup) {
  ModelBuilder m = two_channels();
  m.node("c = Conv(x, w1) {pads: [1, 1, 1, 1]}").node("r = Relu(c)");
  m.node("y = Conv(r, w2) {pads: [1, 1, 1, 1]}").output("y");
  EXPECT_THAT(texts(quantizer_groups(Simulation(m.model()))),
              ElementsAre("{r|w2}", "{x|w1}", "{y|}"));
}

TEST(QuantizerGroups, WeightsOfAllReadersJoinButOperandsOfASumDoNot) {
  ModelBuilder m = two_channels();
  m.node("a = Conv(x, w1) {pads: [1, 1, 1, 1]}").node("b = Conv(x, w2) {pads: [1, 1, 1, 1]}");
  m.node("y = Add(a, b)").output("y");
  EXPECT_THAT(texts(quantizer_groups(Simulation(m.model()))),
              ElementsAre("{a|}", "{b|}", "{x|w1,w2}", "{y|}"));
}

TEST(QuantizerGroups, SeeThroughOperatorsThatMoveData) {
  ModelBuilder m;
  m.input("x", {2, 4});
  m.random("w", {2, 3}, 1).ints("s", {2}, {4, 2});
  m.node("t = Transpose(x)").node("f = Reshape(t, s)").node("y = Gemm(f, w)").output("y");
  EXPECT_THAT(texts(quantizer_groups(Simulation(m.model()))), ElementsAre("{x|w}", "{y|}"));
}

TEST(QuantizerGroups, ProductOfActivationsHasAGroupForEachOperand) {
  ModelBuilder m;
  m.input("q", {2, 4}).input("k", {4, 2});
  m.node("s = MatMul(q, k)").output("s");
  EXPECT_THAT(texts(quantizer_groups(Simulation(m.model()))), ElementsAre("{k|}", "{q|}", "{s|}"));
}

TEST(QuantizerGroups, InputsOfAConcatStaySeparate) {
  ModelBuilder m;
  m.input("a", {1, 1, 4, 4}).input("b", {1, 1, 4, 4}).random("w", {2, 2, 1, 1}, 1);
  m.node("d = Concat(a, b) {axis: 1}").node("y = Conv(d, w)").output("y");
  EXPECT_THAT(texts(quantizer_groups(Simulation(m.model()))),
              ElementsAre("{a|}", "{b|}", "{d|w}", "{y|}"));
}

TEST(QuantizerGroups, LeaveOutQuantizersThatAreOff) {
  ModelBuilder m = two_channels();
  m.node("c = Conv(x, w1) {pads: [1, 1, 1, 1]}").node("r = Relu(c)");
  m.node("y = Conv(r, w2) {pads: [1, 1, 1, 1]}").output("y");
  Simulation sim(m.model());
  sim.quantizer("x")->set_enabled(false);
  sim.quantizer("w2")->set_enabled(false);
  EXPECT_THAT(texts(quantizer_groups(sim)), ElementsAre("{|w1}", "{r|}", "{y|}"));
}

}  // namespace
}  // namespace bitsweep
