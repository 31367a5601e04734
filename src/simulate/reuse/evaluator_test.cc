#include "simulate/reuse/evaluator.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "simulate/engine.h"
#include "simulate/testing/nets.h"
#include "simulate/whole_runs.h"

namespace bitsweep::simulate {
namespace {

using testing::more_nets;
using testing::residual_net;
using testing::samples;

TEST(Evaluator, ASuffixRepeatsTheFloatPassSoThatItsReferenceIsRunUntilEnoughBitsAgreed) {
  // Multiples of the runtime's block of channels, and of half a block.
  for (const std::int64_t channels : {8, 16, 24, 32}) {
    Engine engine(residual_net(channels), {.portable_runs = false});
    Network& network = engine.network();
    Evaluator& evaluator = engine.evaluator();
    WorkCounter& work = engine.work();
    Feed feed;
    Tensor x = Tensor::allocate(DataType::kFloat, {1, channels, 9, 9});
    for (std::size_t i = 0; i < x.mutable_floats().size(); ++i)
      x.mutable_floats()[i] = static_cast<float>(i % 17) / 8.0F - 1.0F;
    feed.emplace("x", x);
    engine.shapes().observe(feed);
    const int cut = network.order().produced_at(network.graph().find("o0")) + 1;
    ASSERT_GT(cut, 0);
    evaluator.set_plan({.cuts = {cut}});
    std::vector<std::shared_ptr<Sample>> opened;
    for (int i = 0; i < 4; ++i) opened.push_back(evaluator.open_sample(feed));
    work.reset();
    for (const auto& sample : opened) {
      evaluator.prepare_reference(*sample, 0);
      EXPECT_TRUE(evaluator.repeats_float_pass(*sample, 0)) << channels;
    }
    // One value a channel: 8 may agree by chance, 16 do not.
    EXPECT_EQ(work.num_runs(), channels < 16 ? 2 : 1) << channels;
  }
}

// An exporter's Identity behind a residual sum, where the runtime holds blocks of channels.
TEST(Evaluator, ATensorBehindAnIdentityCrossesACutWithoutChangingTheFloatPass) {
  const Model model = more_nets()[1].second;
  Engine engine(model, {.portable_runs = false});
  Network& network = engine.network();
  Evaluator& evaluator = engine.evaluator();
  const Feed feed = samples(model, 1)[0];
  engine.shapes().observe(feed);
  evaluator.set_plan({});
  const std::shared_ptr<Sample> whole = evaluator.open_sample(feed);
  const int cut = network.order().produced_at(network.graph().find("o0")) + 1;
  evaluator.set_plan({.cuts = {cut}});
  const std::shared_ptr<Sample> split = evaluator.open_sample(feed);
  EXPECT_TRUE(split->outputs()[0].equal_bits(whole->outputs()[0]));
  EXPECT_TRUE(evaluator.repeats_float_pass(*split, 0));
}

TEST(Evaluator, ATensorThatACutTakesIsQuantizedWithoutRunningWhatMakesIt) {
  constexpr float kTolerance = 1e-4F;
  const Model model = residual_net(16);
  Engine engine(model, {});
  Network& network = engine.network();
  Evaluator& evaluator = engine.evaluator();
  WorkCounter& work = engine.work();
  const Feed feed = samples(model, 1)[0];
  engine.shapes().observe(feed);
  const graph::TensorId at_cut = network.graph().find("o0");
  State state;
  for (int s = 0; s < network.num_sites(); ++s) {
    if (network.site(s).tensor == at_cut) state.push_back(s);
  }
  ASSERT_EQ(state.size(), 1U);
  network.quantizer(state[0])->load_encoding({.format = Format::integer(8),
                                              .granularity = {},
                                              .grid = {},
                                              .cells = {make_encoding(0.0, 2.0, {.bitwidth = 8})}});
  evaluator.set_plan({.cuts = {network.order().produced_at(at_cut) + 1}});
  const std::shared_ptr<Sample> sample = evaluator.open_sample(feed);
  work.reset();
  const std::vector<Tensor> outputs = evaluator.evaluate_outputs(state, *sample);
  EXPECT_EQ(work.num_runs(), 1);  // of the suffix
  EXPECT_FALSE(outputs[0].equal_bits(sample->outputs()[0]));
  const std::vector<Tensor> whole = engine.whole_runs().run(state, feed);
  for (std::size_t i = 0; i < whole[0].floats().size(); ++i)
    EXPECT_NEAR(outputs[0].floats()[i], whole[0].floats()[i], kTolerance);
}

}  // namespace
}  // namespace bitsweep::simulate
