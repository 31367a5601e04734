#include "bitsweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "bitsweep/error.h"
#include "bitsweep/simulation.h"
#include "simulate/engine.h"
#include "simulate/reuse/exact_plan.h"
#include "simulate/testing/nets.h"

namespace bitsweep {
namespace {

using simulate::testing::calibrate;
using simulate::testing::HeldSource;
using simulate::testing::more_nets;
using simulate::testing::net;
using simulate::testing::nets;
using simulate::testing::samples;
using simulate::testing::VectorSource;
using ::testing::HasSubstr;

// Scores below this level are compared closely; above it, float rounding decides.
constexpr double kComparable = 80.0;
constexpr double kTolerance = 1e-3;

std::map<std::string, double> by_name(const MetricScores& result) {
  std::map<std::string, double> scores;
  for (const SweepScore& s : result.scores) scores[s.name] = s.score;
  return scores;
}

std::vector<std::pair<std::string, Model>> every_net() {
  auto all = nets();
  for (auto& named : more_nets()) all.push_back(std::move(named));
  return all;
}

TEST(Sweep, PrefixReuseGivesTheScoresOfFullRuns) {
  for (const auto& [name, model] : every_net()) {
    Simulation sim(model);
    const std::vector<Feed> feeds = samples(model, 3);
    calibrate(sim, feeds);
    VectorSource source(feeds);
    SweepOptions options{.metric = "psnr", .more_metrics = {{.name = "sqnr"}}};
    const SweepResult reused = sweep(sim, source, group_by_quantizer(sim), options);
    options.reuse = false;
    const SweepResult full = sweep(sim, source, group_by_quantizer(sim), options);
    ASSERT_EQ(reused.scores.size(), full.scores.size()) << name;
    EXPECT_LT(reused.forward_equivalents, full.forward_equivalents) << name;
    const auto compare = [&](const MetricScores& got, const MetricScores& expected) {
      const auto wanted = by_name(expected);
      for (const auto& [tensor, score] : by_name(got)) {
        if (wanted.at(tensor) < kComparable) {
          EXPECT_NEAR(score, wanted.at(tensor), kTolerance)
              << name << " " << got.metric << " " << tensor;
        }
      }
    };
    compare(reused, full);
    compare(reused.more.at(0), full.more.at(0));
  }
}

// Kept boundaries, kept sessions, references that are known to repeat the float pass, states that
// end early: none of them may change a bit of what the same plan gives without it.
TEST(Sweep, EveryCacheOffGivesTheSameBits) {
  for (const auto& [name, model] : every_net()) {
    Simulation sim(model);
    const std::vector<Feed> feeds = samples(model, 2);
    calibrate(sim, feeds);
    simulate::Engine& engine = sim.engine();
    simulate::Evaluator& evaluator = engine.evaluator();
    engine.shapes().observe(feeds[0]);
    std::vector<simulate::State> states;
    for (const int site : engine.network().enabled_state()) states.push_back({site});
    simulate::EvaluationPlan plan =
        engine.planner().set_plan(states, feeds[0], {.num_samples = 2}, 1).evaluation;
    plan.repeated_bits.clear();
    std::vector<simulate::Evaluation> kept;
    // The first sample fills what the second one finds.
    std::shared_ptr<simulate::Sample> shared;
    for (const Feed& feed : feeds) {
      kept.clear();
      shared = evaluator.open_sample(feed);
      for (const simulate::State& state : states)
        kept.push_back(evaluator.evaluate(state, *shared));
    }
    engine.sessions().set_memory_limit(0);  // a session at a time
    for (std::size_t s = 0; s < states.size(); ++s) {
      evaluator.set_plan(plan);  // forgets which suffixes repeat the float pass
      const auto sample = evaluator.open_sample(feeds[1]);
      const simulate::Evaluation alone = evaluator.evaluate(states[s], *sample);
      for (std::size_t i = 0; i < alone.outputs.size(); ++i) {
        EXPECT_TRUE(alone.outputs[i].equal_bits(kept[s].outputs[i])) << name;
        EXPECT_TRUE((*alone.reference)[i].equal_bits((*kept[s].reference)[i])) << name;
      }
    }
  }
}

TEST(Sweep, AnyNumberOfThreadsGivesTheSameBits) {
  const Model model = net("branchy");
  Simulation sim(model);
  const std::vector<Feed> feeds = samples(model, 5);
  calibrate(sim, feeds);
  std::vector<SweepResult> results;
  for (const int threads : {1, 2, 4}) {
    VectorSource source(feeds);
    results.push_back(sweep(sim, source, group_by_quantizer(sim), {.num_threads = threads}));
  }
  for (const SweepResult& r : results) {
    ASSERT_EQ(r.scores.size(), results[0].scores.size());
    for (std::size_t i = 0; i < r.scores.size(); ++i) {
      EXPECT_EQ(r.scores[i].name, results[0].scores[i].name);
      EXPECT_EQ(r.scores[i].score, results[0].scores[i].score);
      EXPECT_EQ(r.scores[i].per_sample, results[0].scores[i].per_sample);
    }
  }
}

TEST(Sweep, ThreadsInsideRunsGiveTheSameScores) {
  // Operators that split a sum among threads round elsewhere.
  constexpr double kPathTolerance = 1e-3;
  // Costs are added up in the order in which runs end.
  constexpr double kSumTolerance = 1e-9;
  const Model model = net("branchy");
  Simulation sim(model, {.num_threads = 2});
  const std::vector<Feed> feeds = samples(model, 3);
  calibrate(sim, feeds);
  VectorSource source(feeds);
  const auto run = [&](ThreadUse use) {
    return sweep(sim, source, group_by_quantizer(sim), {.num_threads = 2, .thread_use = use});
  };
  const SweepResult states = run(ThreadUse::kStates);
  const auto expected = by_name(states);
  for (const ThreadUse use : {ThreadUse::kRuns, ThreadUse::kMeasured}) {
    const SweepResult result = run(use);
    EXPECT_NEAR(result.forward_equivalents, states.forward_equivalents, kSumTolerance)
        << thread_use_name(use);
    const auto scores = by_name(result);
    ASSERT_EQ(scores.size(), expected.size());
    for (const auto& [tensor, score] : expected) {
      if (score < kComparable) {
        EXPECT_NEAR(scores.at(tensor), score, kPathTolerance) << tensor << thread_use_name(use);
      }
    }
  }
}

TEST(Sweep, UseOfThreadsHasAName) {
  for (const ThreadUse use : {ThreadUse::kStates, ThreadUse::kRuns, ThreadUse::kMeasured})
    EXPECT_EQ(parse_thread_use(thread_use_name(use)), use);
  try {
    parse_thread_use("all");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("states, runs, measured"));
  }
}

TEST(Sweep, LittleMemoryCostsTimeButNotScores) {
  // Other cuts and blocks of samples: float rounding elsewhere.
  constexpr double kPathTolerance = 1e-3;
  const Model model = net("residual");
  Simulation sim(model);
  const std::vector<Feed> feeds = samples(model, 7);
  calibrate(sim, feeds);
  VectorSource source(feeds);
  const auto plenty = by_name(sweep(sim, source, group_by_quantizer(sim)));
  for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{4} << 20}) {
    const auto little =
        by_name(sweep(sim, source, group_by_quantizer(sim), {.max_memory_bytes = bytes}));
    ASSERT_EQ(plenty.size(), little.size());
    for (const auto& [tensor, score] : plenty) {
      if (score < kComparable) {
        EXPECT_NEAR(little.at(tensor), score, kPathTolerance) << tensor << " " << bytes;
      }
    }
  }
}

TEST(Sweep, MostSensitiveComesFirstAndRanksCount) {
  const Model model = net("chain");
  Simulation sim(model);
  const std::vector<Feed> feeds = samples(model, 2);
  calibrate(sim, feeds);
  VectorSource source(feeds);
  const SweepResult result = sweep(sim, source, group_by_quantizer(sim));
  for (std::size_t i = 0; i < result.scores.size(); ++i) {
    EXPECT_EQ(result.scores[i].rank, static_cast<std::int64_t>(i) + 1);
    if (i > 0) {
      EXPECT_LE(result.scores[i - 1].score, result.scores[i].score);
    }
  }
  const SweepResult mse = sweep(sim, source, group_by_quantizer(sim), {.metric = "mse"});
  EXPECT_GE(mse.scores.front().score, mse.scores.back().score);
}

TEST(Sweep, IntervalsHoldTheScoreAndNeedTwoSamples) {
  const Model model = net("chain");
  Simulation sim(model);
  const std::vector<Feed> feeds = samples(model, 8);
  calibrate(sim, feeds);
  VectorSource eight(feeds);
  for (const SweepScore& row : sweep(sim, eight, group_by_quantizer(sim)).scores) {
    ASSERT_TRUE(row.interval.has_value()) << row.name;
    EXPECT_GT(row.interval->standard_error, 0.0) << row.name;
    EXPECT_LE(row.interval->low, row.score + row.interval->standard_error) << row.name;
    EXPECT_GE(row.interval->high, row.score - row.interval->standard_error) << row.name;
  }
  VectorSource one({feeds[0]});
  for (const SweepScore& row : sweep(sim, one, group_by_quantizer(sim)).scores)
    EXPECT_FALSE(row.interval.has_value());
}

TEST(Sweep, FewerBitsScoreWorse) {
  const Model model = net("residual");
  const std::vector<Feed> feeds = samples(model, 2);
  double last = 1e9;
  for (const int bits : {12, 8, 4}) {
    Simulation sim(model, {.activation_format = Format::integer(bits)});
    calibrate(sim, feeds);
    VectorSource source(feeds);
    const double score = by_name(sweep(sim, source, group_by_quantizer(sim))).at("o1");
    EXPECT_LT(score, last) << bits;
    last = score;
  }
}

TEST(Sweep, GroupsOfOneOperatorHoldItsWeightAndItsOutput) {
  const Model model = net("chain");
  Simulation sim(model);
  const std::vector<SweepGroup> groups = group_by_operator(sim);
  const auto it = std::find_if(groups.begin(), groups.end(), [](const SweepGroup& g) {
    return std::find(g.tensors.begin(), g.tensors.end(), "c1.w") != g.tensors.end();
  });
  ASSERT_NE(it, groups.end());
  std::size_t grouped = 0;
  for (const SweepGroup& g : groups) grouped += g.tensors.size();
  EXPECT_EQ(grouped, group_by_quantizer(sim).size());
}

TEST(Sweep, SwitchesAreUntouched) {
  const Model model = net("residual");
  Simulation sim(model);
  const std::vector<Feed> feeds = samples(model, 2);
  calibrate(sim, feeds);
  std::vector<bool> before;
  for (const std::string& t : sim.tensor_names()) before.push_back(sim.quantizer(t)->enabled());
  VectorSource source(feeds);
  SweepOptions options;
  options.progress = [](const SweepProgress&) -> bool {
    throw std::runtime_error("from the caller");
  };
  EXPECT_THROW(sweep(sim, source, group_by_quantizer(sim), options), std::runtime_error);
  std::vector<bool> after;
  for (const std::string& t : sim.tensor_names()) after.push_back(sim.quantizer(t)->enabled());
  EXPECT_EQ(before, after);
}

TEST(Sweep, StoppedByTheCallerKeepsWhatIsDone) {
  const Model model = net("residual");
  Simulation sim(model);
  const std::vector<Feed> feeds = samples(model, 400);
  calibrate(sim, {feeds[0], feeds[1]});
  HeldSource source(feeds, 4);
  SweepOptions options;
  bool is_stopped = false;
  options.progress = [&](const SweepProgress& p) {
    if (p.done > 0 && !std::exchange(is_stopped, true)) source.release();
    return is_stopped;
  };
  const SweepResult result = sweep(sim, source, group_by_quantizer(sim), options);
  ASSERT_FALSE(result.complete);
  EXPECT_LT(result.num_samples, 400);
  for (const SweepScore& s : result.scores)
    EXPECT_EQ(static_cast<std::int64_t>(s.per_sample.size()), result.num_samples);
}

/// Samples that take their time, the first one most of all.
class SlowSource : public VectorSource {
 public:
  static constexpr double kFirstS = 0.3;
  using VectorSource::VectorSource;
  bool next(Feed* feed) override {
    std::this_thread::sleep_for(std::chrono::duration<double>(is_first_ ? kFirstS : 0.05));
    is_first_ = false;
    return VectorSource::next(feed);
  }

 private:
  bool is_first_ = true;
};

TEST(Sweep, TimeLeftFollowsFromTheEvaluationsAndNotFromWhatCameBefore) {
  const Model model = net("chain");
  Simulation sim(model);
  const std::vector<Feed> feeds = samples(model, 12);
  calibrate(sim, {feeds[0]});
  SlowSource source(feeds);
  int num_seen = 0;
  SweepOptions options;
  options.progress = [&](const SweepProgress& p) {
    if (p.done == 0 || p.done == p.total) return false;
    const double per_evaluation = p.remaining_s / static_cast<double>(p.total - p.done);
    EXPECT_LE(per_evaluation * static_cast<double>(p.done), p.elapsed_s - SlowSource::kFirstS);
    ++num_seen;
    return false;
  };
  sweep(sim, source, group_by_quantizer(sim), options);
  EXPECT_GT(num_seen, 0);
}

TEST(Sweep, BadSampleInTheMiddleIsAnError) {
  const Model model = net("chain");
  Simulation sim(model);
  std::vector<Feed> feeds = samples(model, 3);
  calibrate(sim, {feeds[0]});
  feeds[2].erase("x");
  VectorSource source(feeds);
  try {
    sweep(sim, source, group_by_quantizer(sim));
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("input \"x\" is missing"));
  }
}

TEST(Sweep, AGroupThatChangesTheSizeOfAnOutputScoresWorstAndTheSweepGoesOn) {
  const Model model = simulate::testing::thresholded_boxes();
  SimulationOptions coarse;
  coarse.parameter_format = coarse.activation_format = Format::integer(4);
  Simulation sim(model, coarse);
  const std::vector<Feed> feeds = samples(model, 3);
  calibrate(sim, feeds);
  VectorSource source(feeds);
  const SweepResult result = sweep(sim, source, group_by_quantizer(sim), {.interactions = true});
  const std::map<std::string, double> scores = by_name(result);
  EXPECT_EQ(scores.at("score.w"), -100.0);  // decides what is found
  EXPECT_GT(scores.at("box.w"), 0.0);       // does not
  const Interactions& interactions = result.interactions.value();
  EXPECT_EQ(interactions.predict(std::vector<std::string>{"score.w"}, "sqnr"), -100.0);
  EXPECT_NEAR(interactions.predict(std::vector<std::string>{"box.w"}, "sqnr"), scores.at("box.w"),
              1e-3);
}

TEST(Sweep, WithoutSamplesGroupsOrEncodingsSaysSo) {
  const Model model = net("chain");
  Simulation sim(model);
  VectorSource none({});
  VectorSource some(samples(model, 1));
  const auto message = [&](SampleSource& source, const std::vector<SweepGroup>& groups) {
    try {
      sweep(sim, source, groups);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message(some, group_by_quantizer(sim)),
              HasSubstr("has no encoding; calibrate first"));
  calibrate(sim, samples(model, 1));
  EXPECT_THAT(message(none, group_by_quantizer(sim)), HasSubstr("there is no sample"));
  EXPECT_THAT(message(some, {}), HasSubstr("no quantizer is enabled"));
  EXPECT_THAT(message(some, {{"g", {"nothing"}}}),
              HasSubstr("tensor \"nothing\" has no quantizer"));
}

}  // namespace
}  // namespace bitsweep
