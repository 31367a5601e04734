#include "simulate/reuse/cut_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/testing/model_builder.h"
#include "simulate/testing/nets.h"

namespace bitsweep::simulate {
namespace {

using graph::testing::ModelBuilder;
using testing::residual_net;

// As of a feed whose only input "x" has the shape.
void observe(Shapes& shapes, const Shape& shape) {
  Feed feed;
  feed.emplace("x", Tensor::allocate(DataType::kFloat, shape));
  std::ranges::fill(feed.at("x").mutable_floats(), 0.5F);
  shapes.observe(feed);
}

std::vector<State> every_site_alone(const Network& network) {
  std::vector<State> states;
  for (int s = 0; s < network.num_sites(); ++s) states.push_back({s});
  return states;
}

TEST(CutPlan, LittleMemoryTakesSamplesInBlocksInsteadOfGivingUpCuts) {
  const Model model = residual_net(32);
  Network network(model, {});
  Shapes shapes(network);
  observe(shapes, {1, 32, 9, 9});
  const std::vector<State> states = every_site_alone(network);
  const CutPlan plenty = plan_cuts(network, shapes, states, {.num_samples = 100});
  const CutPlan little = plan_cuts(network, shapes, states,
                                   {.num_samples = 100, .memory_bytes = std::int64_t{4} << 20});
  EXPECT_EQ(plenty.evaluation.open_samples, 2U);
  EXPECT_EQ(plenty.evaluation.session_bytes, 0U);
  EXPECT_FALSE(little.evaluation.cuts.empty());
  EXPECT_GT(little.evaluation.open_samples, 2U);
  EXPECT_GE(little.evaluation.session_bytes, std::size_t{2} << 20);
  EXPECT_LE(little.evaluation.session_bytes, std::size_t{4} << 20);
  // Boundaries that do not fit are not kept.
  const CutPlan nothing =
      plan_cuts(network, shapes, states, {.num_samples = 100, .memory_bytes = 1});
  EXPECT_EQ(nothing.evaluation.open_samples, 1U);
}

TEST(CutPlan, ManySamplesNeedNoMoreSessionsThanAFew) {
  ModelBuilder m;
  m.input("x", {1, 4, 16, 16}).output("x40");
  m.floats("w", {4, 4, 3, 3}, std::vector<float>(144, 0.1F));
  for (int i = 0; i < 40; ++i) {
    const std::string from = i == 0 ? "x" : "x" + std::to_string(i);
    m.node("x" + std::to_string(i + 1) + " = Conv(" + from + ", w) {pads: [1, 1, 1, 1]}");
  }
  Network network(m.model(), {});
  Shapes shapes(network);
  observe(shapes, {1, 4, 16, 16});
  const std::vector<State> states = every_site_alone(network);
  const CutPlan one = plan_cuts(network, shapes, states, {.num_samples = 1});
  const CutPlan few = plan_cuts(network, shapes, states, {.num_samples = 8});
  const CutPlan many = plan_cuts(network, shapes, states, {.num_samples = 1000});
  EXPECT_LT(one.evaluation.cuts.size(), few.evaluation.cuts.size());
  EXPECT_EQ(few.evaluation.cuts, many.evaluation.cuts);
}

}  // namespace
}  // namespace bitsweep::simulate
