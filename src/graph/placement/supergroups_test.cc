#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/placement/testing/placed.h"

namespace bitsweep::graph {
namespace {

using testing::ModelBuilder;
using testing::Placed;

std::string groups(const std::string& lists) {
  return R"({"extends": "per_tensor", "supergroups": [)" + lists + "]}";
}

constexpr const char* kConvRelu = R"({"op_list": ["Conv", "Relu"]})";

Placed conv_relu(const Shape& weight, int group, const Shape& input, const std::string& more = "") {
  ModelBuilder m;
  m.input("x", input).output("y").random("w", weight);
  m.node("h = Conv(x, w) {group: " + std::to_string(group) + "}").node("y = Relu(h)");
  if (!more.empty()) m.node(more);
  return Placed(m, {.rules = groups(kConvRelu)});
}

TEST(Supergroups, QuantizeOnlyTheLastOutput) {
  const Placed placed = conv_relu({4, 3, 3, 3}, 1, {1, 3, 8, 8});
  EXPECT_FALSE(placed.enabled("h"));
  EXPECT_TRUE(placed.enabled("y"));
  EXPECT_EQ(placed.site("h").reason, "supergroup Conv-Relu: only the last output is quantized");
}

TEST(Supergroups, NeedASingleReader) {
  EXPECT_TRUE(conv_relu({4, 3, 3, 3}, 1, {1, 3, 8, 8}, "z = Shape(h)").enabled("h"));
  ModelBuilder m;
  m.input("x", {1, 3, 8})
      .output("y")
      .random("w", {4, 3, 3})
      .node("h = Conv(x, w)")
      .node("y = Add(h, h)");
  EXPECT_TRUE(Placed(m, {.rules = groups(R"({"op_list": ["Conv", "Add"]})")}).enabled("h"));
}

TEST(Supergroups, DoNotStartAtDepthwiseOr3dConvolutions) {
  EXPECT_TRUE(conv_relu({4, 1, 3, 3}, 4, {1, 4, 8, 8}).enabled("h"));
  EXPECT_TRUE(conv_relu({4, 1, 3, 3}, 2, {1, 2, 8, 8}).enabled("h"));
  EXPECT_TRUE(conv_relu({4, 3, 3, 3, 3}, 1, {1, 3, 8, 8, 8}).enabled("h"));
  EXPECT_FALSE(conv_relu({4, 2, 3, 3}, 2, {1, 4, 8, 8}).enabled("h"));
  EXPECT_FALSE(conv_relu({4, 1, 3, 3}, 1, {1, 1, 8, 8}).enabled("h"));
}

TEST(Supergroups, LongerPatternsGoFirstAndMatchesShareNoOperator) {
  ModelBuilder m;
  m.input("x", {1, 3, 8, 8}).output("y").random("w", {4, 3, 3, 3});
  m.node("a = Conv(x, w)").node("b = Relu(a)").node("c = Elu(b)").node("y = Elu(c)");
  const Placed placed(m,
                      {.rules = groups(R"({"op_list": ["Elu", "Elu"]}, {"op_list": ["Relu", "Elu"]},
                                             {"op_list": ["Conv", "Relu", "Elu"]})")});
  EXPECT_FALSE(placed.enabled("a"));
  EXPECT_FALSE(placed.enabled("b"));
  EXPECT_TRUE(placed.enabled("c"));
  EXPECT_TRUE(placed.enabled("y"));
}

TEST(Supergroups, FollowAnyInputOfTheNextOperator) {
  ModelBuilder m;
  m.input("x", {1, 3, 8}).input("z", {1, 4, 6}).output("y").random("w", {4, 3, 3});
  m.node("h = Conv(x, w)").node("s = Add(z, h)").node("y = Relu(s)");
  const Placed placed(m, {.rules = groups(R"({"op_list": ["Conv", "Add", "Relu"]})")});
  EXPECT_FALSE(placed.enabled("h"));
  EXPECT_FALSE(placed.enabled("s"));
}

}  // namespace
}  // namespace bitsweep::graph
