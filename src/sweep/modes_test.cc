// Modes, selections, several metrics and interactions of a sweep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bitsweep/error.h"
#include "bitsweep/sweep.h"
#include "simulate/testing/nets.h"

namespace bitsweep {
namespace {

using simulate::testing::calibrate;
using simulate::testing::net;
using simulate::testing::nets;
using simulate::testing::samples;
using simulate::testing::VectorSource;
using ::testing::HasSubstr;

// The sweep's sessions and whole runs fuse differently.
constexpr double kTolerance = 1e-3;
constexpr double kComparable = 80.0;

/// Score of whole runs of the simulation with just these tensors enabled.
double whole_run(Simulation& sim, const std::vector<Feed>& feeds,
                 const std::vector<std::string>& tensors, const char* name) {
  std::map<std::string, bool> before;
  for (const std::string& t : sim.tensor_names()) {
    before[t] = sim.quantizer(t)->enabled();
    sim.quantizer(t)->set_enabled(false);
  }
  for (const std::string& t : tensors) sim.quantizer(t)->set_enabled(true);
  const auto metric = make_metric(name);
  for (const Feed& feed : feeds) metric->add(sim.run_float(feed), sim.run(feed));
  for (const auto& [t, on] : before) sim.quantizer(t)->set_enabled(on);
  return metric->score();
}

struct Swept {
  explicit Swept(const std::string& name, int count = 3)
      : model(net(name)), feeds(samples(model, count)), sim(model) {
    calibrate(sim, feeds);
  }
  SweepResult run(const SweepOptions& options) { return run(group_by_quantizer(sim), options); }
  SweepResult run(const std::vector<SweepGroup>& groups, const SweepOptions& options) {
    VectorSource source(feeds);
    return sweep(sim, source, groups, options);
  }
  Model model;
  std::vector<Feed> feeds;
  Simulation sim;
};

TEST(SweepModes, DisableOneLeavesOneOut) {
  Swept net("residual");
  const SweepResult result = net.run({.mode = SweepMode::kDisableOne});
  const std::vector<std::string> all = net.sim.tensor_names();
  for (const SweepScore& row : result.scores) {
    std::vector<std::string> others;
    for (const std::string& t : all) {
      if (t != row.name && net.sim.quantizer(t)->enabled()) others.push_back(t);
    }
    EXPECT_NEAR(row.score, whole_run(net.sim, net.feeds, others, "sqnr"), kTolerance) << row.name;
  }
  // The most sensitive one is whose absence helps most.
  EXPECT_GE(result.scores.front().score, result.scores.back().score);
}

TEST(SweepModes, CumulativeAddsGroupAfterGroupInTheOrderGiven) {
  Swept net("chain");
  const std::vector<SweepGroup> groups = group_by_quantizer(net.sim);
  const SweepResult result = net.run(groups, {.mode = SweepMode::kCumulative});
  ASSERT_EQ(result.scores.size(), groups.size());
  std::vector<std::string> on;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    EXPECT_EQ(result.scores[i].name, groups[i].name);
    on.push_back(groups[i].name);
    const double wanted = whole_run(net.sim, net.feeds, on, "sqnr");
    if (wanted < kComparable) {
      EXPECT_NEAR(result.scores[i].score, wanted, kTolerance);
    }
  }
}

TEST(SweepModes, UnknownNameListsTheKnownOnes) {
  for (const SweepMode mode :
       {SweepMode::kEnableOne, SweepMode::kDisableOne, SweepMode::kCumulative})
    EXPECT_EQ(parse_sweep_mode(sweep_mode_name(mode)), mode);
  try {
    parse_sweep_mode("all");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("enable_one, disable_one, cumulative"));
  }
}

TEST(SweepSelection, WeightsActivationsAndPatternsArePartsOfAll) {
  Swept net("residual");
  const auto names = [](const std::vector<SweepGroup>& groups) {
    std::vector<std::string> all;
    for (const SweepGroup& g : groups) all.insert(all.end(), g.tensors.begin(), g.tensors.end());
    return all;
  };
  const auto weights = names(group_by_quantizer(net.sim, {.activations = false}));
  const auto activations = names(group_by_quantizer(net.sim, {.parameters = false}));
  EXPECT_EQ(weights.size() + activations.size(), group_by_quantizer(net.sim).size());
  EXPECT_THAT(weights, ::testing::Each(::testing::EndsWith(".w")));
  EXPECT_THAT(names(group_by_quantizer(net.sim, {.patterns = {"a?.w", "fc*"}})),
              ::testing::UnorderedElementsAre("a0.w", "a1.w", "a2.w", "fc.w"));
  for (const SweepGroup& group : group_by_operator(net.sim, {.activations = false}))
    EXPECT_EQ(group.tensors.size(), 1U) << group.name;
}

TEST(SweepMetrics, SeveralCostTheRunsOfOneAndScoreAsAlone) {
  Swept net("branchy");
  const SweepResult both = net.run({.metric = "psnr", .more_metrics = {{"kl", {}}, {"mse", {}}}});
  ASSERT_EQ(both.more.size(), 2U);
  const SweepResult psnr = net.run({.metric = "psnr"});
  const SweepResult kl = net.run({.metric = "kl"});
  EXPECT_EQ(both.num_runs, psnr.num_runs);
  EXPECT_EQ(both.more[0].metric, "kl");
  for (std::size_t i = 0; i < psnr.scores.size(); ++i) {
    EXPECT_EQ(both.scores[i].score, psnr.scores[i].score);
    EXPECT_EQ(both.more[0].scores[i].name, kl.scores[i].name);
    EXPECT_EQ(both.more[0].scores[i].score, kl.scores[i].score);
  }
}

/// Samples with the label 1 for each.
class Labelled : public VectorSource {
 public:
  using VectorSource::VectorSource;
  Tensor labels() const override {
    Tensor label = Tensor::allocate(DataType::kInt64, {2});
    static_cast<std::int64_t*>(label.mutable_data())[0] = 1;
    static_cast<std::int64_t*>(label.mutable_data())[1] = -1;
    return label;
  }
};

TEST(SweepMetrics, WithLabelsTheFloatModelIsScoredToo) {
  Swept net("residual");
  Labelled source(net.feeds);
  const SweepResult result =
      sweep(net.sim, source, group_by_quantizer(net.sim), {.metric = "cross_entropy"});
  ASSERT_TRUE(result.float_score.has_value());
  const auto metric = make_metric("cross_entropy");
  for (const Feed& feed : net.feeds) {
    const std::vector<Tensor> outputs = net.sim.run_float(feed);
    metric->add(*metric->prepare(outputs, source.labels()), outputs);
  }
  EXPECT_NEAR(*result.float_score / metric->score(), 1.0, 1e-6);
  EXPECT_EQ(result.scores.size(), group_by_quantizer(net.sim).size());
  VectorSource without(net.feeds);
  EXPECT_THROW(sweep(net.sim, without, group_by_quantizer(net.sim), {.metric = "accuracy"}), Error);
}

TEST(SweepInteractions, GramHoldsTheSquaredErrorsAndPredictsConfigurations) {
  for (const auto& [name, model] : nets()) {
    const std::vector<Feed> feeds = samples(model, 2);
    Simulation sim(model);
    calibrate(sim, feeds);
    VectorSource source(feeds);
    const SweepResult result =
        sweep(sim, source, group_by_quantizer(sim), {.metric = "sqnr", .interactions = true});
    ASSERT_TRUE(result.interactions.has_value()) << name;
    const Interactions& gram = *result.interactions;
    for (const SweepScore& row : result.scores) {
      const std::vector<std::string> alone = {row.name};
      EXPECT_NEAR(gram.predict(alone), row.score, 1e-6) << name << " " << row.name;
      EXPECT_NEAR(gram.predict_additive(alone), row.score, 1e-6) << name << " " << row.name;
    }
  }
}

TEST(SweepInteractions, PredictionComesCloserThanAddingUp) {
  Swept net("residual");
  const SweepResult result = net.run({.interactions = true});
  std::vector<std::string> all;
  for (const SweepScore& row : result.scores) all.push_back(row.name);
  const double measured = whole_run(net.sim, net.feeds, all, "sqnr");
  const double predicted = result.interactions->predict(all);
  const double additive = result.interactions->predict_additive(all);
  EXPECT_LT(std::abs(predicted - measured), std::abs(additive - measured));
  EXPECT_LT(std::abs(predicted - measured), 1.0);
}

TEST(SweepInteractions, PairsAreRankedByWhatTheyAddToTheError) {
  Interactions gram{.groups = {"a", "b", "c", "tied"}, .rows = {0, 1, 2, 0}, .num_rows = 3};
  gram.outputs.push_back({.gram = {4, -3, 1, -3, 4, 0, 1, 0, 1}, .num_values = 1.0});
  const std::vector<InteractingPair> pairs = gram.strongest_pairs(2);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].first + pairs[0].second, "ab");
  EXPECT_DOUBLE_EQ(pairs[0].interaction, -0.75);
  const std::vector<std::string> tied = {"a", "tied", "b"};
  EXPECT_DOUBLE_EQ(gram.predict(tied, "mse"), 2.0);  // a once: 4 + 4 - 6
  EXPECT_DOUBLE_EQ(gram.predict_additive(tied, "mse"), 8.0);
  const std::vector<std::string> unknown = {"z"};
  EXPECT_THROW(gram.predict(unknown), Error);
  EXPECT_THROW(gram.predict(tied, "kl"), Error);
}

TEST(SweepInteractions, AreTheSameBitsForAnyNumberOfThreads) {
  Swept net("branchy", 6);
  const SweepResult one = net.run({.num_threads = 1, .interactions = true});
  const SweepResult four = net.run({.num_threads = 4, .interactions = true});
  EXPECT_EQ(one.interactions->outputs[0].gram, four.interactions->outputs[0].gram);
}

void expect_top_of_the_whole_sweep(Swept& net) {
  const SweepResult whole = net.run({});
  const SweepResult part = net.run({.until_stable = AdaptiveOptions{}});
  ASSERT_TRUE(part.stability.has_value());
  EXPECT_LT(part.stability->num_evaluations, whole.num_evaluations);
  std::vector<std::string> wanted;
  for (std::size_t i = 0; i < part.stability->selected.size(); ++i)
    wanted.push_back(whole.scores[i].name);
  EXPECT_THAT(part.stability->selected, ::testing::UnorderedElementsAreArray(wanted));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_THAT(wanted, ::testing::Contains(part.scores[i].name));
  EXPECT_EQ(part.scores.size(), whole.scores.size());
  EXPECT_EQ(part.num_samples, whole.num_samples);
}

TEST(SweepUntilStable, FindsTheTopOfTheWholeSweepWithLessWork) {
  Swept net("residual", 48);
  expect_top_of_the_whole_sweep(net);
}

TEST(SweepUntilStable, SeesTheFewSamplesThatCarryTheErrorWhereverTheyStand) {
  Swept net("residual", 48);
  // Beyond every range: clipping makes an error that nothing in the other samples announces.
  for (auto& [name, tensor] : net.feeds[41]) {
    for (float& value : tensor.mutable_floats()) value *= 20.0F;
  }
  expect_top_of_the_whole_sweep(net);
}

TEST(SweepUntilStable, SaysWhenThereAreFewerSamplesOnTheSecondReading) {
  struct Shrinking : VectorSource {
    using VectorSource::VectorSource;
    bool next(Feed* feed) override { return num_left-- > 0 && VectorSource::next(feed); }
    void rewind() override {
      VectorSource::rewind();
      num_left = num_rewinds++ == 0 ? 8 : 2;
    }
    int num_left = 0;
    int num_rewinds = 0;
  };
  Swept net("residual", 8);
  Shrinking source(net.feeds);
  EXPECT_THROW(
      sweep(net.sim, source, group_by_quantizer(net.sim), {.until_stable = AdaptiveOptions{}}),
      Error);
}

TEST(SweepUntilStable, NeedsTwoSamplesAndAModeWithAnOrder) {
  Swept net("chain", 1);
  EXPECT_THROW(net.run({.until_stable = AdaptiveOptions{}}), Error);
  EXPECT_THROW(net.run({.mode = SweepMode::kCumulative, .until_stable = AdaptiveOptions{}}), Error);
  EXPECT_THROW(net.run({.until_stable = AdaptiveOptions{}, .interactions = true}), Error);
  EXPECT_THROW(net.run({.mode = SweepMode::kDisableOne, .interactions = true}), Error);
}

TEST(SweepForecast, IsGivenBeforeTheWorkAndCloseToIt) {
  Swept net("chain", 4);
  std::vector<SweepForecast> forecasts;
  SweepOptions options;
  options.forecast = [&](const SweepForecast& f) { forecasts.push_back(f); };
  const SweepResult result = net.run(options);
  ASSERT_EQ(forecasts.size(), 1U);
  EXPECT_EQ(forecasts[0].num_samples, 4);
  EXPECT_EQ(forecasts[0].num_states * 4, result.num_evaluations);
  EXPECT_GT(forecasts[0].forward_equivalents_per_sample, 0.0);
}

}  // namespace
}  // namespace bitsweep
