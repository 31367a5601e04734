#include "simulate/neighbour_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bitsweep/simulation.h"
#include "simulate/testing/nets.h"
#include "simulate/whole_runs.h"

namespace bitsweep::simulate {
namespace {

using testing::calibrate;
using testing::samples;

constexpr std::int64_t kPlenty = std::int64_t{64} << 20;

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) { return x.equal_bits(y); });
}

std::vector<Feed> wide_samples(const Model& model, int count) {
  std::vector<Feed> feeds;
  for (const Feed& small : samples(model, count)) {
    Feed feed;
    for (const auto& [name, tensor] : small) {
      Tensor wide = Tensor::allocate(DataType::kFloat, {1, tensor.shape()[1], 28, 28});
      for (std::int64_t i = 0; i < wide.size(); ++i)
        wide.mutable_floats()[static_cast<std::size_t>(i)] =
            tensor.floats()[static_cast<std::size_t>(i * 7 % tensor.size())];
      feed.emplace(name, std::move(wide));
    }
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

/// Calibrated residual blocks of which a pass is long enough to be cut.
struct Blocks {
  explicit Blocks(int num_samples) : feeds(wide_samples(model, num_samples)) {
    calibrate(sim, feeds);
  }
  Model model = testing::residual_net(64);
  Simulation sim{model};
  std::vector<Feed> feeds;
  Engine& engine = sim.engine();
};

class Neighbours : public ::testing::TestWithParam<std::int64_t> {};

// One quantizer after the other changes its width, the last ones first.
TEST_P(Neighbours, GiveTheBitsOfWholeRuns) {
  Blocks blocks(2);
  Engine& engine = blocks.engine;
  NeighbourRuns neighbours(engine, GetParam());
  std::vector<std::string> names = blocks.sim.tensor_names();
  std::ranges::reverse(names);
  names.insert(names.begin(), "");
  for (const std::string& name : names) {
    if (!name.empty()) {
      if (!blocks.sim.quantizer(name)->enabled()) continue;
      blocks.sim.quantizer(name)->set_bitwidth(4);
      blocks.sim.quantizer(name)->compute_encoding();
    }
    const State state = engine.network().enabled_state();
    for (std::size_t i = 0; i < blocks.feeds.size(); ++i) {
      const std::vector<Tensor> whole = engine.whole_runs().run(state, blocks.feeds[i]);
      EXPECT_TRUE(same_bits(neighbours.run(state, blocks.feeds[i], i), whole)) << name << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, Neighbours,
                         ::testing::Values(kPlenty, std::int64_t{1} << 18, std::int64_t{0}));

TEST(NeighbourRuns, RunOnlyWhatLiesBehindTheFirstChange) {
  Blocks blocks(1);
  Engine& engine = blocks.engine;
  NeighbourRuns neighbours(engine, kPlenty);
  for (int i = 0; i < 8; ++i) neighbours.run(engine.network().enabled_state(), blocks.feeds[0], 0);
  const double before = engine.work().forward_equivalents();
  neighbours.run(engine.network().enabled_state(), blocks.feeds[0], 0);
  const double again = engine.work().forward_equivalents() - before;
  EXPECT_GT(again, 0.0);  // the last segment
  EXPECT_LT(again, 0.5);
}

}  // namespace
}  // namespace bitsweep::simulate
