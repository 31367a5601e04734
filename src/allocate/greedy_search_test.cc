#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "bitsweep/allocation.h"
#include "bitsweep/error.h"
#include "graph/testing/model_builder.h"
#include "simulate/testing/nets.h"

namespace bitsweep {
namespace {

using simulate::testing::net;
using simulate::testing::samples;
using ::testing::HasSubstr;

const Candidate kA16W16{Format::integer(16), Format::integer(16)};
const Candidate kA8W8{Format::integer(8), Format::integer(8)};

/// Scores by SQNR on the calibration samples.
class SqnrEvaluator : public GreedyEvaluator {
 public:
  explicit SqnrEvaluator(Simulation& sim) : sim_(sim), feeds_(samples(sim.model(), 2)) {
    for (const Feed& feed : feeds_) reference_.push_back(sim.run_float(feed));
  }

  void run_calibration_samples() override {
    for (const Feed& feed : feeds_) sim_.run(feed);
  }
  double score_phase1() override {
    ++num_phase1;
    if (num_phase1 == throw_at) throw std::runtime_error("user");
    return score();
  }
  double score_phase2() override { return nan ? std::nan("") : score(); }
  Known recall(const std::string& text) override {
    identity = text;
    return text == known_identity ? known : Known{};
  }
  void keep_entries(const std::vector<GreedyEntry>& entries) override { known.entries = entries; }
  void keep_points(const std::vector<GreedyPoint>& points) override { known.points = points; }

  int num_phase1 = 0;
  int throw_at = 0;
  bool nan = false;
  std::string identity;
  std::string known_identity;
  Known known;

 private:
  double score() {
    double signal = 0.0;
    double noise = 0.0;
    for (std::size_t i = 0; i < feeds_.size(); ++i) {
      const std::vector<Tensor> outputs = sim_.run(feeds_[i]);
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        for (std::size_t k = 0; k < outputs[o].floats().size(); ++k) {
          const double r = reference_[i][o].floats()[k];
          const double d = r - outputs[o].floats()[k];
          signal += r * r;
          noise += d * d;
        }
      }
    }
    return 10.0 * std::log10(signal / (noise + 1e-10 * signal));
  }

  Simulation& sim_;
  std::vector<Feed> feeds_;
  std::vector<std::vector<Tensor>> reference_;
};

std::vector<std::string> settings(const Simulation& sim) {
  std::vector<std::string> rows;
  for (const std::string& name : sim.tensor_names()) {
    const Quantizer& q = *sim.quantizer(name);
    rows.push_back(name + " " + q.format().name() + (q.enabled() ? " on" : " off") +
                   (q.encoding() ? " " + std::to_string(q.encoding()->cells[0].delta) : ""));
  }
  return rows;
}

TEST(GreedySearch, WithoutALimitMeasuresEveryPointAndTakesTheLast) {
  for (const char* search : {"binary", "interpolation", "brute_force"}) {
    Simulation sim(net("residual"));
    SqnrEvaluator evaluator(sim);
    const GreedyResult r = greedy_search(
        sim, {.candidates = {kA16W16, kA8W8}, .allowed_drop = {}, .search = search}, evaluator);
    EXPECT_EQ(r.end, GreedyEnd::kSearched);
    EXPECT_EQ(r.baseline, kA16W16);
    EXPECT_EQ(r.entries.size(), r.groups.size());
    EXPECT_EQ(r.points.size(), r.entries.size());
    for (const Candidate& c : r.chosen) EXPECT_EQ(c, kA8W8);
    EXPECT_GE(r.points.back().relative_bit_ops, 0.25);
    EXPECT_LT(r.points.back().relative_bit_ops, 0.5);
    EXPECT_DOUBLE_EQ(r.points.back().score, r.final_score);
    for (std::size_t i = 1; i < r.entries.size(); ++i)
      EXPECT_GE(r.entries[i - 1].score, r.entries[i].score);
  }
}

TEST(GreedySearch, MeasuresChangesOfOneSharedQuantizerOnce) {
  // The inputs of the Concat and its output share a quantizer, but are groups of their own.
  graph::testing::ModelBuilder m;
  m.input("x", {1, 3, 6, 6}).random("v", {4, 3, 1, 1}, 1).random("w", {4, 3, 1, 1}, 2);
  m.node("a = Conv(x, v)").node("b = Conv(x, w)").node("y = Concat(a, b) {axis: 1}").output("y");
  Simulation sim(m.model());
  SqnrEvaluator evaluator(sim);
  const GreedyResult r =
      greedy_search(sim, {.candidates = {kA16W16, kA8W8}, .allowed_drop = {}}, evaluator);
  ASSERT_EQ(sim.quantizer("a"), sim.quantizer("y"));
  EXPECT_EQ(r.groups.size(), 4U);
  EXPECT_EQ(r.points.size(), 4U);
  EXPECT_EQ(r.num_searched_points, 4);
  // The float model, two candidates, two different points, and the last check.
  EXPECT_EQ(r.num_phase2_scores, 6);
}

TEST(GreedySearch, ChosenConfigurationStaysWithinTheAllowedDrop) {
  Simulation sim(net("residual"));
  SqnrEvaluator evaluator(sim);
  for (const char* search : {"binary", "interpolation", "brute_force"}) {
    const GreedyResult r = greedy_search(
        sim, {.candidates = {kA16W16, kA8W8}, .allowed_drop = 50.0, .search = search}, evaluator);
    ASSERT_EQ(r.end, GreedyEnd::kSearched) << search;
    EXPECT_GE(r.final_score, r.float_score - 50.0) << search;
    EXPECT_DOUBLE_EQ(evaluator.score_phase2(), r.final_score) << "the state that is left";
  }
}

TEST(GreedySearch, EndsEarlyWhenTheAnswerIsClear) {
  Simulation sim(net("residual"));
  SqnrEvaluator evaluator(sim);
  GreedyResult r =
      greedy_search(sim, {.candidates = {kA16W16, kA8W8}, .allowed_drop = 0.001}, evaluator);
  EXPECT_EQ(r.end, GreedyEnd::kBestTooWeak);
  EXPECT_EQ(r.chosen.front(), kA16W16);
  r = greedy_search(sim, {.candidates = {kA16W16, kA8W8}, .allowed_drop = 300.0}, evaluator);
  EXPECT_EQ(r.end, GreedyEnd::kLowestSuffices);
  EXPECT_EQ(r.chosen.front(), kA8W8);
  EXPECT_EQ(evaluator.num_phase1, 0);
}

TEST(GreedySearch, PutsEveryQuantizerBackWhenTheCallerThrows) {
  for (const bool share : {true, false}) {
    Simulation sim(net("residual"));
    SqnrEvaluator evaluator(sim);
    sim.begin_calibration();
    evaluator.run_calibration_samples();
    sim.finish_calibration();
    const std::vector<std::string> before = settings(sim);
    evaluator.throw_at = 3;
    EXPECT_THROW(
        greedy_search(
            sim, {.candidates = {kA16W16, kA8W8}, .allowed_drop = {}, .share_calibration = share},
            evaluator),
        std::runtime_error);
    EXPECT_EQ(settings(sim), before);
    EXPECT_FALSE(sim.calibrating());
  }
}

TEST(GreedySearch, KnownScoresAreUsedOnlyForTheSameIdentity) {
  Simulation sim(net("residual"));
  SqnrEvaluator evaluator(sim);
  const GreedyOptions options{.candidates = {kA16W16, kA8W8}, .allowed_drop = {}};
  const GreedyResult first = greedy_search(sim, options, evaluator);
  const int measured = evaluator.num_phase1;
  EXPECT_GT(measured, 0);

  Simulation again(net("residual"));
  SqnrEvaluator second(again);
  second.known = evaluator.known;
  second.known_identity = evaluator.identity;
  const GreedyResult r = greedy_search(again, options, second);
  EXPECT_EQ(second.num_phase1, 0);
  EXPECT_DOUBLE_EQ(r.final_score, first.final_score);

  Simulation other(net("chain"));
  SqnrEvaluator third(other);
  third.known = evaluator.known;
  third.known_identity = evaluator.identity;
  greedy_search(other, options, third);
  EXPECT_GT(third.num_phase1, 0);
}

TEST(GreedySearch, RefusesScoresThatAreNoNumber) {
  Simulation sim(net("chain"));
  SqnrEvaluator evaluator(sim);
  evaluator.nan = true;
  try {
    greedy_search(sim, {.candidates = {kA8W8}}, evaluator);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("NaN"));
  }
}

}  // namespace
}  // namespace bitsweep
