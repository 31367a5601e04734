#include "simulate/whole_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "graph/testing/model_builder.h"
#include "simulate/engine.h"

namespace bitsweep::simulate {
namespace {

using graph::testing::ModelBuilder;

// Every arithmetic operator that is fused, with values that rounding and comparisons treat apart.
TEST(WholeRuns, FusedArithmeticGivesTheBitsOfTheRuntimesOperators) {
  ModelBuilder m;
  m.input("x", {-1, 96}).output("y").output("z");
  m.floats("c", {}, {0.7F}).floats("low", {}, {-1.5F}).floats("high", {}, {1.25F});
  m.node("a = Add(x, c)").node("b = Sub(c, a)").node("d = Mul(a, b)").node("e = Div(d, c)");
  m.node("f = Clip(e, low, high)").node("g = HardSigmoid(f) {alpha: 0.3, beta: 0.4}");
  m.node("h = Relu(a)").node("i = Add(g, h)").node("j = Clip(i, , high)").node("y = Div(c, j)");
  m.node("k = Softmax(y)").node("l = Sub(k, c)").node("n = Relu(l)").node("z = Clip(n)");
  Engine engine(m.model(), {});
  Network& network = engine.network();
  WholeRuns& runs = engine.whole_runs();
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
  for (const int s : network.enabled_state()) network.quantizer(s)->load_encoding(encoding);
  const std::vector<Tensor> fused = runs.run(network.enabled_state(), feed);
  const std::vector<Tensor> single =
      runs.run_tensors(network.enabled_state(), feed, network.graph().outputs());
  for (std::size_t i = 0; i < fused.size(); ++i) EXPECT_TRUE(fused[i].equal_bits(single[i])) << i;
}

}  // namespace
}  // namespace bitsweep::simulate
