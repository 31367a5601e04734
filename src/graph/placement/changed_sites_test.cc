#include <gtest/gtest.h>

#include "graph/placement/rules_file.h"
#include "graph/placement/testing/placed.h"

namespace bitsweep::graph {
namespace {

using testing::ModelBuilder;
using testing::Placed;

int index_of(const Placed& placed, const std::string& tensor) {
  const std::vector<Site>& sites = placed.placement().sites;
  for (int i = 0; i < static_cast<int>(sites.size()); ++i) {
    if (placed.name(sites[i].tensor) == tensor) return i;
  }
  return -1;
}

TEST(ChangedSites, NormWeightsFollowAWidthThatTheUserSet) {
  ModelBuilder m;
  m.opset(17).input("x", {2, 8}).output("y").random("w", {8}).node("y = LayerNormalization(x, w)");
  const Placed placed(m, {.rules = "default"});
  std::vector<Site> sites = placed.placement().sites;
  const int w = index_of(placed, "w");
  sites[w].format = Format::integer(4);
  apply_exception_rules(placed.graph(), load_rules("default"), sites);
  EXPECT_EQ(sites[w].format, Format::integer(8));
  sites[w].format = Format::integer(16);
  apply_exception_rules(placed.graph(), load_rules("default"), sites);
  EXPECT_EQ(sites[w].format, Format::integer(16));
  EXPECT_TRUE(sites[w].symmetric);
}

ModelBuilder matmul_of_activations() {
  ModelBuilder m;
  m.input("a", {4, 4}).input("b", {4, 4}).output("y");
  m.node("t = Transpose(b)").node("y = MatMul(a, t)");
  return m;
}

TEST(ChangedSites, OperandsOfMatmulFollowEachOther) {
  const Placed placed(matmul_of_activations(), {.rules = "htp_v79"});
  std::vector<Site> sites = placed.placement().sites;
  sites[index_of(placed, "b")].format = Format::integer(16);
  apply_exception_rules(placed.graph(), load_rules("htp_v79"), sites);
  EXPECT_EQ(sites[index_of(placed, "a")].format, Format::integer(16));
  EXPECT_TRUE(sites[index_of(placed, "b")].symmetric);
}

TEST(ChangedSites, OtherSettingsOfTheUserStay) {
  const Placed placed(matmul_of_activations(), {.rules = "default"});
  std::vector<Site> sites = placed.placement().sites;
  const int a = index_of(placed, "a");
  const int b = index_of(placed, "b");
  sites[a].enabled = false;
  sites[a].format = Format::integer(4);
  sites[b].symmetric = false;  // the rules file asked for a symmetric one
  apply_exception_rules(placed.graph(), load_rules("default"), sites);
  EXPECT_FALSE(sites[a].enabled);
  EXPECT_EQ(sites[a].format, Format::integer(4));
  EXPECT_FALSE(sites[b].symmetric);
}

TEST(ChangedSites, TiesThatTheUserMadeHold) {
  ModelBuilder m;
  m.opset(17).input("x", {2, 8}).output("z").random("v", {8}).random("w", {8});
  m.node("y = LayerNormalization(x, v)").node("z = LayerNormalization(y, w)");
  const Placed placed(m, {.rules = "default"});
  std::vector<Site> sites = placed.placement().sites;
  const int v = index_of(placed, "v");
  const int w = index_of(placed, "w");
  sites[w].tied_to = v;
  sites[v].format = sites[w].format = Format::integer(4);
  apply_exception_rules(placed.graph(), load_rules("default"), sites);
  EXPECT_EQ(sites[v].format, Format::integer(8));
  EXPECT_EQ(sites[w].format, Format::integer(8));
}

TEST(EffectiveSite, IsTheClosestEnabledOneThroughDataMovement) {
  ModelBuilder m;
  m.input("x", {2, 4})
      .output("z")
      .node("y = Sigmoid(x)")
      .node("t = Transpose(y)")
      .node("z = Relu(t)");
  const Placed placed(m);
  std::vector<Site> sites = placed.placement().sites;
  const auto effective = [&](const std::string& tensor) {
    const int site = effective_site(placed.graph(), sites, placed.graph().find(tensor));
    return site < 0 ? std::string() : placed.name(sites[site].tensor);
  };
  EXPECT_EQ(effective("y"), "y");
  EXPECT_EQ(effective("t"), "y");
  sites[index_of(placed, "y")].enabled = false;
  EXPECT_EQ(effective("t"), "") << "a Sigmoid changes the values";
}

}  // namespace
}  // namespace bitsweep::graph
