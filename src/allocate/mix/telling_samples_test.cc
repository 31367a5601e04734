#include "allocate/mix/telling_samples.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "simulate/testing/nets.h"

namespace bitsweep::allocate {
namespace {

using Positions = std::vector<std::int64_t>;

/// What a configuration with this noise by sample measures, samples equally loud.
MeasuredMix measured(const std::vector<double>& noise) {
  const auto count = static_cast<double>(noise.size());
  const double sum = std::accumulate(noise.begin(), noise.end(), 0.0);
  MeasuredMix mix{.choices = {}, .db = -10.0 * std::log10(sum / count), .without_db = {}};
  for (const double n : noise)
    mix.without_db.push_back(-10.0 * std::log10((sum - n) / (count - 1.0)));
  return mix;
}

TEST(TellingSamples, HoldHalfOfTheNoise) {
  EXPECT_EQ(telling_samples({measured({1, 4, 2, 3, 5, 1, 2, 2})}), (Positions{1, 3, 4}));
}

TEST(TellingSamples, AreTwoWhereOneHoldsNearlyAll) {
  EXPECT_EQ(telling_samples({measured({1, 1, 900, 1, 1, 3})}), (Positions{2, 5}));
}

TEST(TellingSamples, CountByTheirShareInEachConfiguration) {
  EXPECT_EQ(telling_samples({measured({9e-6, 1e-7, 1e-7, 1e-7}), measured({1, 1, 7, 1})}),
            (Positions{0, 2}));
}

TEST(TellingSamples, AreAllOfTwo) {
  EXPECT_EQ(telling_samples({measured({1, 2})}), (Positions{0, 1}));
}

TEST(SomeSamples, AreThoseOfTheSourceAgainAfterARewind) {
  const Model model = simulate::testing::net("residual");
  const std::vector<Feed> all = simulate::testing::samples(model, 5, 1);
  simulate::testing::VectorSource source(all);
  SomeSamples some(source, {1, 4});
  for (int round = 0; round < 2; ++round) {
    some.rewind();
    Feed feed;
    for (const std::size_t i : {1U, 4U}) {
      ASSERT_TRUE(some.next(&feed));
      EXPECT_TRUE(feed.begin()->second.equal_bits(all[i].begin()->second));
    }
    EXPECT_FALSE(some.next(&feed));
  }
}

/// Numbers of samples by stage.
std::map<std::string, std::int64_t> stages_of_mix(int frontier_points) {
  std::map<std::string, std::int64_t> stages;
  MixOptions options{.frontier_points = frontier_points};
  for (const char* c : {"W8A16", "W8A8", "W4A8"})
    options.candidates.push_back(parse_mix_candidate(c));
  options.targets.push_back(parse_mix_target("sqnr>=20"));
  options.progress = [&](const MixProgress& p) {
    stages[p.stage] = p.total;
    return false;
  };
  Simulation simulation(simulate::testing::net("residual"));
  simulate::testing::VectorSource search(simulate::testing::samples(simulation.model(), 8, 2));
  mix(simulation, search, search, nullptr, options);
  return stages;
}

TEST(TellingSamples, MeasureTheGroupsWhereOneAnswerIsAskedForAndAllThoseOfACurve) {
  EXPECT_LT(stages_of_mix(0)["measure groups"], 8);
  EXPECT_EQ(stages_of_mix(0)["measure mixes"], 8);
  EXPECT_EQ(stages_of_mix(3)["measure groups"], 8);
}

}  // namespace
}  // namespace bitsweep::allocate
