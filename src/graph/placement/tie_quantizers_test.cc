#include <gtest/gtest.h>

#include "graph/placement/testing/placed.h"

namespace bitsweep::graph {
namespace {

using testing::ModelBuilder;
using testing::Placed;
using Range = std::pair<std::optional<double>, std::optional<double>>;

// Ranges on Relu and Tanh, no supergroups.
constexpr const char* kRanges = R"({"extends": "per_tensor", "supergroups": [], "op_type": {
    "Relu": {"encoding_constraints": {"min": 0}}, "Tanh": {"encoding_constraints": {"min": -1, "max": 1}}}})";

Placed placed(const std::vector<std::string>& nodes, const std::string& rules = kRanges,
              const std::vector<std::string>& outputs = {"y"}) {
  ModelBuilder m;
  m.input("x", {1, 4})
      .ints("shape", {1}, {4})
      .ints("parts", {2}, {2, 2})
      .ints("nothing", {4}, {0, 0, 0, 0});
  for (const std::string& node : nodes) m.node(node);
  for (const std::string& output : outputs) m.output(output);
  return Placed(m, {.rules = rules});
}

TEST(Tying, ConcatInputsThatNobodyElseReadsTakeTheOutputsQuantizer) {
  const Placed p = placed({"a = Elu(x)", "b = Elu(x)", "z = Exp(b)", "y = Concat(a, b) {axis: 1}"});
  EXPECT_EQ(p.tied_to("y"), "a");
  EXPECT_EQ(p.tied_to("b"), "");
}

TEST(Tying, ConcatReachesThroughDataMovement) {
  const Placed p =
      placed({"e = Elu(x)", "a, b = Split(e, parts) {axis: 1}", "y = Concat(b, a) {axis: 1}"});
  EXPECT_EQ(p.tied_to("y"), "e");
  const Placed q = placed({"e = Elu(x)", "r = Reshape(e, shape)", "c = Elu(r)", "z = Exp(e)",
                           "y = Concat(r, c) {axis: 0}"});
  EXPECT_EQ(q.tied_to("y"), "c");
}

TEST(Tying, ConcatNeedsAPathThatNobodyLeaves) {
  const Placed twice = placed(
      {"e = Elu(x)", "p = Pad(e, nothing)", "q = Pad(e, nothing)", "y = Concat(p, q) {axis: 1}"});
  EXPECT_EQ(twice.tied_to("y"), "");
  const Placed joined = placed({"e = Elu(x)", "p = Pad(e, nothing)", "y = Concat(e, p) {axis: 1}"});
  EXPECT_EQ(joined.tied_to("y"), "e");
  const Placed half = placed({"e = Elu(x)", "a, b = Split(e, parts) {axis: 1}", "z = Exp(b)",
                              "c = Elu(x)", "y = Concat(a, c) {axis: 1}"});
  EXPECT_EQ(half.tied_to("y"), "c");
  const Placed output =
      placed({"e = Elu(x)", "z = Identity(e)", "c = Elu(x)", "y = Concat(e, c) {axis: 1}"}, kRanges,
             {"y", "z"});
  EXPECT_EQ(output.tied_to("y"), "c");
}

TEST(Tying, AConcatInsideAnotherGetsNoRangeOfItsOwn) {
  const Placed p = placed({"a = Tanh(x)", "b = Tanh(x)", "c = Concat(a, b) {axis: 1}", "d = Elu(x)",
                           "y = Concat(c, d) {axis: 1}"});
  EXPECT_EQ(p.tied_to("y"), "c");
  EXPECT_EQ(p.site("y").fixed_range, std::nullopt);
  EXPECT_EQ(p.tied_to("b"), "");
}

TEST(Tying, ConcatOfConcatIsOneQuantizer) {
  const Placed p = placed({"a = Elu(x)", "b = Elu(x)", "c = Concat(a, b) {axis: 1}", "d = Elu(x)",
                           "y = Concat(c, d) {axis: 1}"});
  for (const char* name : {"b", "c", "d", "y"}) EXPECT_EQ(p.tied_to(name), "a") << name;
}

TEST(Tying, ConcatTakesARangeThatAllInputsShare) {
  const Placed same = placed({"a = Tanh(x)", "b = Tanh(x)", "y = Concat(a, b) {axis: 1}"});
  EXPECT_EQ(same.site("y").fixed_range, (Range{-1.0, 1.0}));
  EXPECT_EQ(same.tied_to("y"), "a");
  const Placed other = placed({"a = Tanh(x)", "b = Elu(x)", "y = Concat(a, b) {axis: 1}"});
  EXPECT_EQ(other.tied_to("y"), "b");
  EXPECT_EQ(other.site("y").fixed_range, std::nullopt);
  EXPECT_EQ(other.site("a").fixed_range, (Range{-1.0, 1.0}));
}

TEST(Tying, AConcatThatIsOffTiesNothing) {
  const Placed p = placed(
      {"a = Elu(x)", "b = Elu(x)", "y = Concat(a, b) {axis: 1}"},
      R"({"extends": "per_tensor", "op_type": {"Concat": {"is_output_quantized": "False"}}})");
  EXPECT_TRUE(p.enabled("a"));
  EXPECT_EQ(p.tied_to("b"), "");
}

TEST(Tying, ReluTakesTheQuantizerOfItsInputAndGivesItsRange) {
  const Placed p = placed({"a = Elu(x)", "y = Relu(a)"});
  EXPECT_EQ(p.tied_to("y"), "a");
  EXPECT_EQ(p.site("a").fixed_range, (Range{0.0, std::nullopt}));
}

TEST(Tying, ReluLeavesAnInputAloneThatOthersReadWithoutItsRange) {
  const Placed ranged = placed({"a = Elu(x)", "y = Relu(a)", "z = Exp(a)"});
  EXPECT_EQ(ranged.tied_to("y"), "");
  EXPECT_EQ(ranged.site("a").fixed_range, std::nullopt);
  const Placed plain = placed({"a = Elu(x)", "y = Relu(a)", "z = Exp(a)"},
                              R"({"extends": "per_tensor", "supergroups": []})");
  EXPECT_EQ(plain.tied_to("y"), "a");
}

TEST(Tying, TheRangeOfAReluClipsNeitherModelOutputsNorOtherReaders) {
  const Placed output = placed({"a = Elu(x)", "y = Relu(a)"}, kRanges, {"y", "a"});
  EXPECT_EQ(output.tied_to("y"), "");
  EXPECT_EQ(output.site("a").fixed_range, std::nullopt);
  const Placed half =
      placed({"e = Elu(x)", "a, b = Split(e, parts) {axis: 1}", "y = Relu(a)", "z = Exp(b)"});
  EXPECT_EQ(half.tied_to("y"), "");
  EXPECT_EQ(half.site("e").fixed_range, std::nullopt);
}

TEST(Tying, RangesThatExcludeOneAnotherStayApart) {
  const Placed p = placed({"a = Tanh(x)", "y = Relu(a)"});
  EXPECT_EQ(p.tied_to("y"), "");
  EXPECT_EQ(p.site("a").fixed_range, (Range{-1.0, 1.0}));
  EXPECT_EQ(p.site("y").fixed_range, (Range{0.0, std::nullopt}));
}

TEST(Tying, PassesCastsBetweenFloatingPointTypes) {
  const Placed p =
      placed({"a = Elu(x)", "h = Cast(a) {to: 10}", "g = Cast(h) {to: 1}", "y = Relu(g)"});
  EXPECT_EQ(p.tied_to("y"), "a");
}

Placed lstm(const std::string& node, const std::string& rules = kRanges) {
  ModelBuilder m;
  m.input("x", {3, 1, 2}).input("h0", {1, 1, 2}).input("c0", {1, 1, 2}).output("h");
  m.random("w", {1, 8, 2}).random("r", {1, 8, 2}).node("a = Elu(x)").node(node);
  return Placed(m, {.rules = rules});
}

TEST(Tying, RecurrentStatesShareAndTheCellHasItsOwn) {
  const Placed p = lstm("y, h, c = LSTM(a, w, r, , , h0, c0) {hidden_size: 2}");
  for (const char* name : {"a", "y", "h"}) EXPECT_EQ(p.tied_to(name), "h0") << name;
  EXPECT_EQ(p.tied_to("c"), "c0");
  EXPECT_EQ(p.tied_to("x"), "");
}

TEST(Tying, AStateThatAnotherRecurrentOperatorReadsJoinsBoth) {
  ModelBuilder m;
  m.input("x", {3, 1, 2}).output("z");
  m.random("w", {1, 6, 2}).random("r", {1, 6, 2});
  m.node("a = Elu(x)").node("y, h = GRU(a, w, r) {hidden_size: 2}");
  m.node("z = GRU(h, w, r) {hidden_size: 2}");
  const Placed p(m, {.rules = kRanges});
  for (const char* name : {"y", "h", "z"}) EXPECT_EQ(p.tied_to(name), "a") << name;
}

TEST(Tying, RecurrentOperatorsOfOneInputShareItsQuantizer) {
  ModelBuilder m;
  m.input("x", {3, 1, 2}).output("y").output("z");
  m.random("w", {1, 6, 2}).random("r", {1, 6, 2});
  m.node("a = Elu(x)").node("y = GRU(a, w, r) {hidden_size: 2}");
  m.node("z = GRU(a, w, r) {hidden_size: 2}");
  const Placed p(m, {.rules = kRanges});
  EXPECT_EQ(p.tied_to("y"), "a");
  EXPECT_EQ(p.tied_to("z"), "a");
}

TEST(Tying, RecurrentOperatorsMayLackOutputs) {
  EXPECT_EQ(lstm(", h = LSTM(a, w, r) {hidden_size: 2}").tied_to("h"), "a");
}

TEST(Tying, ARecurrentOutputThatIsOffSwitchesNothingOff) {
  const Placed p =
      lstm("y, h = LSTM(a, w, r) {hidden_size: 2}",
           R"({"extends": "per_tensor", "op_type": {"LSTM": {"is_output_quantized": "False"}}})");
  EXPECT_TRUE(p.enabled("a"));
  EXPECT_FALSE(p.enabled("h"));
}

}  // namespace
}  // namespace bitsweep::graph
