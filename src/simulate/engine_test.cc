#include "simulate/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "graph/testing/model_builder.h"
#include "simulate/exact_plan.h"
#include "simulate/testing/nets.h"

namespace bitsweep::simulate {
namespace {

using graph::testing::ModelBuilder;
using testing::more_nets;
using testing::nets;
using testing::samples;

// Residual blocks, of which the second starts at a cut. Open dimensions, as exporters leave them.
Model residual_net(std::int64_t channels) {
  ModelBuilder m;
  m.input("x", {-1, channels, -1, -1}).random("stem", {channels, channels, 1, 1}, 7);
  m.node("h = Conv(x, stem)");
  std::string last = "h";
  for (const std::string k : {"0", "1", "2"}) {
    m.random("w" + k, {channels, channels, 3, 3}, 3).random("v" + k, {channels, channels, 1, 1}, 5);
    m.node("a" + k + " = Conv(" + last + ", w" + k + ") {pads: [1, 1, 1, 1]}");
    m.node("r" + k + " = Relu(a" + k + ")").node("b" + k + " = Conv(r" + k + ", v" + k + ")");
    m.node("s" + k + " = Add(b" + k + ", " + last + ")").node("o" + k + " = Relu(s" + k + ")");
    last = "o" + k;
  }
  m.node("y = GlobalAveragePool(" + last + ")").output("y");
  return m.model();
}

TEST(Engine, ASuffixRepeatsTheFloatPassSoThatItsReferenceIsRunUntilEnoughBitsAgreed) {
  // Multiples of the runtime's block of channels, and of half a block.
  for (const std::int64_t channels : {8, 16, 24, 32}) {
    Engine engine(residual_net(channels), {});
    Feed feed;
    Tensor x = Tensor::allocate(DataType::kFloat, {1, channels, 9, 9});
    for (std::size_t i = 0; i < x.mutable_floats().size(); ++i)
      x.mutable_floats()[i] = static_cast<float>(i % 17) / 8.0F - 1.0F;
    feed.emplace("x", x);
    engine.observe_shapes(feed);
    const int cut = engine.order().produced_at(engine.graph().find("o0")) + 1;
    ASSERT_GT(cut, 0);
    engine.set_plan({.cuts = {cut}});
    std::vector<std::shared_ptr<Sample>> opened;
    for (int i = 0; i < 4; ++i) opened.push_back(engine.open_sample(feed));
    engine.reset_counters();
    for (const auto& sample : opened) {
      engine.prepare_reference(*sample, 0);
      EXPECT_TRUE(engine.repeats_float_pass(*sample, 0)) << channels;
    }
    // One value a channel: 8 may agree by chance, 16 do not.
    EXPECT_EQ(engine.num_runs(), channels < 16 ? 2 : 1) << channels;
  }
}

// An exporter's Identity behind a residual sum, where the runtime holds blocks of channels.
TEST(Engine, ATensorBehindAnIdentityCrossesACutWithoutChangingTheFloatPass) {
  const Model model = more_nets()[1].second;
  Engine engine(model, {});
  const Feed feed = samples(model, 1)[0];
  engine.observe_shapes(feed);
  engine.set_plan({});
  const std::shared_ptr<Sample> whole = engine.open_sample(feed);
  const int cut = engine.order().produced_at(engine.graph().find("o0")) + 1;
  engine.set_plan({.cuts = {cut}});
  const std::shared_ptr<Sample> split = engine.open_sample(feed);
  EXPECT_TRUE(split->outputs()[0].equal_bits(whole->outputs()[0]));
  EXPECT_TRUE(engine.repeats_float_pass(*split, 0));
}

TEST(Engine, AnExactPlanCutsOnlyWhereTheFloatPassIsRepeated) {
  auto all = nets();
  for (auto& named : more_nets()) all.push_back(std::move(named));
  for (const auto& [name, model] : all) {
    Engine engine(model, {});
    const Feed feed = samples(model, 1)[0];
    engine.observe_shapes(feed);
    std::vector<State> states;
    for (int s = 0; s < static_cast<int>(engine.placement().sites.size()); ++s)
      states.push_back({s});
    const CutPlan plan = set_exact_plan(engine, states, feed, {.num_samples = 100}, 2);
    EXPECT_FALSE(plan.engine.cuts.empty()) << name;
    const std::shared_ptr<Sample> sample = engine.open_sample(feed);
    for (int i = 0; i < engine.num_suffixes(); ++i)
      EXPECT_TRUE(engine.repeats_float_pass(*sample, i)) << name;
  }
}

TEST(Engine, ATensorThatACutTakesIsQuantizedWithoutRunningWhatMakesIt) {
  constexpr float kTolerance = 1e-4F;
  const Model model = residual_net(16);
  Engine engine(model, {});
  const Feed feed = samples(model, 1)[0];
  engine.observe_shapes(feed);
  const graph::TensorId at_cut = engine.graph().find("o0");
  State state;
  for (int s = 0; s < static_cast<int>(engine.placement().sites.size()); ++s) {
    if (engine.placement().sites[static_cast<std::size_t>(s)].tensor == at_cut) state.push_back(s);
  }
  ASSERT_EQ(state.size(), 1U);
  engine.quantizer(state[0])->load_encoding({.format = Format::integer(8),
                                             .granularity = {},
                                             .grid = {},
                                             .cells = {make_encoding(0.0, 2.0, {.bitwidth = 8})}});
  engine.set_plan({.cuts = {engine.order().produced_at(at_cut) + 1}});
  const std::shared_ptr<Sample> sample = engine.open_sample(feed);
  engine.reset_counters();
  const std::vector<Tensor> outputs = engine.evaluate_outputs(state, *sample);
  EXPECT_EQ(engine.num_runs(), 1);  // of the suffix
  EXPECT_FALSE(outputs[0].equal_bits(sample->outputs()[0]));
  const std::vector<Tensor> whole = engine.run(state, feed);
  for (std::size_t i = 0; i < whole[0].floats().size(); ++i)
    EXPECT_NEAR(outputs[0].floats()[i], whole[0].floats()[i], kTolerance);
}

TEST(Engine, APlanIsFoundOnceForTheSameStatesAndSample) {
  const Model model = residual_net(16);
  Engine engine(model, {});
  std::vector<Feed> feeds = samples(model, 2);
  engine.observe_shapes(feeds[0]);
  std::vector<State> states;
  for (int s = 0; s < static_cast<int>(engine.placement().sites.size()); ++s) states.push_back({s});
  engine.reset_counters();
  const CutPlan first = set_exact_plan(engine, states, feeds[0], {}, 2);
  const std::int64_t num_runs = engine.num_runs();
  const auto found = engine.found_plan();
  EXPECT_GT(num_runs, 0);
  engine.reset_counters();
  const CutPlan second = set_exact_plan(engine, states, feeds[0], {}, 2);
  EXPECT_EQ(engine.found_plan(), found);
  EXPECT_EQ(second.engine.cuts, first.engine.cuts);
  EXPECT_EQ(engine.num_runs(), num_runs);  // as if it had been found now
  // Nothing is left to be looked at.
  const std::shared_ptr<Sample> sample = engine.open_sample(feeds[0]);
  engine.reset_counters();
  for (int i = 0; i < engine.num_suffixes(); ++i) engine.prepare_reference(*sample, i);
  EXPECT_EQ(engine.num_runs(), 0);
  set_exact_plan(engine, states, feeds[1], {}, 2);
  EXPECT_NE(engine.found_plan(), found);
  const auto of_the_other_sample = engine.found_plan();
  states.pop_back();
  set_exact_plan(engine, states, feeds[1], {}, 2);
  EXPECT_NE(engine.found_plan(), of_the_other_sample);
}

// Every arithmetic operator that is fused, with values that rounding and comparisons treat apart.
TEST(Engine, FusedArithmeticGivesTheBitsOfTheRuntimesOperators) {
  ModelBuilder m;
  m.input("x", {-1, 96}).output("y").output("z");
  m.floats("c", {}, {0.7F}).floats("low", {}, {-1.5F}).floats("high", {}, {1.25F});
  m.node("a = Add(x, c)").node("b = Sub(c, a)").node("d = Mul(a, b)").node("e = Div(d, c)");
  m.node("f = Clip(e, low, high)").node("g = HardSigmoid(f) {alpha: 0.3, beta: 0.4}");
  m.node("h = Relu(a)").node("i = Add(g, h)").node("j = Clip(i, , high)").node("y = Div(c, j)");
  m.node("k = Softmax(y)").node("l = Sub(k, c)").node("n = Relu(l)").node("z = Clip(n)");
  Engine engine(m.model(), {});
  Feed feed;
  Tensor x = Tensor::allocate(DataType::kFloat, {20, 96});
  for (std::size_t i = 0; i < x.mutable_floats().size(); ++i)
    x.mutable_floats()[i] = static_cast<float>(i) / 400.0F - 2.4F;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> special = {
      0.0F, -0.0F, -0.7F, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 1e-40F};
  std::ranges::copy(special, x.mutable_floats().begin());
  feed.emplace("x", x);
  const Encoding encoding{.format = Format::integer(8),
                          .granularity = {},
                          .grid = {},
                          .cells = {make_encoding(-2.0, 2.1, {.bitwidth = 8})}};
  for (const int s : engine.enabled_state()) engine.quantizer(s)->load_encoding(encoding);
  const std::vector<Tensor> fused = engine.run(engine.enabled_state(), feed);
  const std::vector<Tensor> single =
      engine.run_tensors(engine.enabled_state(), feed, engine.graph().outputs());
  for (std::size_t i = 0; i < fused.size(); ++i) EXPECT_TRUE(fused[i].equal_bits(single[i])) << i;
}

// As of a feed whose only input "x" has the shape.
void observe_shapes_of(Engine& engine, const Shape& shape) {
  Feed feed;
  feed.emplace("x", Tensor::allocate(DataType::kFloat, shape));
  std::ranges::fill(feed.at("x").mutable_floats(), 0.5F);
  engine.observe_shapes(feed);
}

std::vector<State> every_site_alone(const Engine& engine) {
  std::vector<State> states;
  for (int s = 0; s < static_cast<int>(engine.placement().sites.size()); ++s) states.push_back({s});
  return states;
}

TEST(Engine, LittleMemoryTakesSamplesInBlocksInsteadOfGivingUpCuts) {
  const Model model = residual_net(32);
  Engine engine(model, {});
  observe_shapes_of(engine, {1, 32, 9, 9});
  const std::vector<State> states = every_site_alone(engine);
  const CutPlan plenty = plan_cuts(engine, states, {.num_samples = 100});
  const CutPlan little =
      plan_cuts(engine, states, {.num_samples = 100, .memory_bytes = std::int64_t{4} << 20});
  EXPECT_EQ(plenty.engine.open_samples, 2U);
  EXPECT_EQ(plenty.engine.session_bytes, 0U);
  EXPECT_FALSE(little.engine.cuts.empty());
  EXPECT_GT(little.engine.open_samples, 2U);
  EXPECT_GE(little.engine.session_bytes, std::size_t{2} << 20);
  EXPECT_LE(little.engine.session_bytes, std::size_t{4} << 20);
  // Boundaries that do not fit are not kept.
  const CutPlan nothing = plan_cuts(engine, states, {.num_samples = 100, .memory_bytes = 1});
  EXPECT_EQ(nothing.engine.open_samples, 1U);
}

TEST(Engine, ManySamplesNeedNoMoreSessionsThanAFew) {
  ModelBuilder m;
  m.input("x", {1, 4, 16, 16}).output("x40");
  m.floats("w", {4, 4, 3, 3}, std::vector<float>(144, 0.1F));
  for (int i = 0; i < 40; ++i) {
    const std::string from = i == 0 ? "x" : "x" + std::to_string(i);
    m.node("x" + std::to_string(i + 1) + " = Conv(" + from + ", w) {pads: [1, 1, 1, 1]}");
  }
  Engine engine(m.model(), {});
  observe_shapes_of(engine, {1, 4, 16, 16});
  const std::vector<State> states = every_site_alone(engine);
  const CutPlan one = plan_cuts(engine, states, {.num_samples = 1});
  const CutPlan few = plan_cuts(engine, states, {.num_samples = 8});
  const CutPlan many = plan_cuts(engine, states, {.num_samples = 1000});
  EXPECT_LT(one.engine.cuts.size(), few.engine.cuts.size());
  EXPECT_EQ(few.engine.cuts, many.engine.cuts);
}

}  // namespace
}  // namespace bitsweep::simulate
