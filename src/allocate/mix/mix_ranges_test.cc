// Granularity of weights and range estimators as candidates beside the types.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <tuple>

#include "allocate/mix/encoding_bank.h"
#include "allocate/mix/mix_groups.h"
#include "base/testing/own_folder.h"
#include "bitsweep/error.h"
#include "bitsweep/mix.h"
#include "graph/testing/model_builder.h"
#include "simulate/testing/nets.h"

namespace bitsweep {
namespace {

using graph::testing::ModelBuilder;
using simulate::testing::samples;
using simulate::testing::VectorSource;
using ::testing::Contains;
using ::testing::HasSubstr;

/// Two products; 32 divides the input channels of the first only.
Model products() {
  ModelBuilder m;
  m.input("x", {4, 64}).random("w1", {64, 48}, 1).random("w2", {48, 16}, 2);
  m.node("h = MatMul(x, w1)").node("r = Relu(h)").node("y = MatMul(r, w2)").output("y");
  return m.model();
}

class MixRanges : public ::testing::Test {
 protected:
  MixResult run(Simulation& sim, const std::vector<std::string>& candidates,
                const std::vector<std::string>& targets,
                const std::vector<std::pair<std::string, std::string>>& pinned = {}) {
    MixOptions options{.frontier_points = 0, .run_directory = run_directory_};
    for (const std::string& c : candidates) options.candidates.push_back(parse_mix_candidate(c));
    for (const std::string& t : targets) options.targets.push_back(parse_mix_target(t));
    for (const auto& [tensor, c] : pinned)
      options.pinned.emplace_back(tensor, parse_mix_candidate(c));
    options.progress = [&](const MixProgress& p) {
      num_calibrated_ += p.stage == "calibrate" ? 1 : 0;
      return false;
    };
    return mix(sim, calibration_, search_, nullptr, options);
  }

  static std::string refusal(const std::function<void()>& what) {
    try {
      what();
    } catch (const Error& e) {
      return e.what();
    }
    return "nothing was refused";
  }

  const Model model_ = products();
  Simulation sim_{model_};
  VectorSource calibration_{samples(model_, 4, 1)};
  VectorSource search_{samples(model_, 4, 2)};
  std::filesystem::path run_directory_;
  int num_calibrated_ = 0;
};

TEST_F(MixRanges, BlocksAreBetterAndTheirScalesAreCounted) {
  const MixResult whole = run(sim_, {"W4A16@per_tensor"}, {"bops<=1"});
  EXPECT_EQ(sim_.quantizer("w1")->granularity(), Granularity{});
  const MixResult blocks = run(sim_, {"W4A16@block16"}, {"bops<=1"});
  EXPECT_EQ(sim_.quantizer("w1")->granularity(),
            (Granularity{.channel_axis = 1, .block_axis = 0, .block_size = 16}));
  EXPECT_EQ(sim_.quantizer("w1")->encoding()->grid, (Shape{4, 48}));
  EXPECT_GT(blocks.chosen->measured_db, whole.chosen->measured_db + 1.0);
  // Half a byte for each weight, four bytes for each scale.
  constexpr double kWeights = (64 * 48 + 48 * 16) / 2.0;
  EXPECT_DOUBLE_EQ(whole.chosen->costs[2], kWeights + 2 * 4);
  EXPECT_DOUBLE_EQ(blocks.chosen->costs[2], kWeights + (4 * 48 + 3 * 16) * 4);
  const MixResult channels = run(sim_, {"W4A16@per_channel"}, {"bops<=1"});
  EXPECT_DOUBLE_EQ(channels.chosen->costs[2], kWeights + (48 + 16) * 4);
}

TEST_F(MixRanges, TheLimitOfBytesDecidesWhoGetsBlocks) {
  const std::vector<std::string> candidates{"W4A16@per_channel", "W4A16@block8"};
  const double least = run(sim_, candidates, {"bytes<=1MB"}).chosen->costs[2];
  EXPECT_DOUBLE_EQ(least, 1920 + (8 * 48 + 6 * 16) * 4);  // best everywhere
  const MixResult r = run(sim_, candidates, {"bytes<=2.6kB"});
  EXPECT_LE(r.chosen->costs[2], 2600);
  EXPECT_FALSE(sim_.quantizer("w1")->granularity().blockwise());
  EXPECT_TRUE(sim_.quantizer("w2")->granularity().blockwise());
}

TEST_F(MixRanges, ABlockSizeThatFitsNoWeightOfAGroupIsNotOfferedToIt) {
  const MixResult r = run(sim_, {"W8A8", "W4A8@block32"}, {"bops<=0.9"});
  EXPECT_THAT(r.notes, Contains("W4A8@block32 does not fit 1 group: \"w2\" has 48 input channels"));
  EXPECT_EQ(sim_.quantizer("w1")->format(), Format::integer(4));
  EXPECT_EQ(sim_.quantizer("w2")->format(), Format::integer(8));
  EXPECT_THAT(refusal([&] { run(sim_, {"W4A8@block32"}, {"bops<=1"}); }),
              HasSubstr("\"w2\" has 48 input channels), and has no other candidate"));
  EXPECT_THAT(
      refusal([&] { run(sim_, {"W8A8", "W4A8@block32"}, {"bops<=1"}, {{"w2", "W4A8@block32"}}); }),
      HasSubstr("\"w2\" cannot be pinned to W4A8@block32"));
}

TEST_F(MixRanges, AnEstimatorGivesTheRangesOfASimulationWithItsScheme) {
  run(sim_, {"W8A8@mse", "W8A8", "W8A8@percentile99"}, {"bops<=1"},
      {{"w1", "W8A8@mse"}, {"w2", "W8A8@percentile99"}});
  Simulation mse(model_, {.scheme = Scheme::kMse});
  Simulation percentile(model_, {.scheme = Scheme::kPercentile});
  // Activations are observed behind the first of the widest weights.
  Simulation behind_mse(model_, {.scheme = Scheme::kPercentile});
  for (Simulation* s : {&percentile, &behind_mse}) {
    for (const std::string& name : s->tensor_names()) s->quantizer(name)->set_percentile(99);
  }
  for (const std::string& name : behind_mse.parameter_names())
    behind_mse.quantizer(name)->set_scheme(Scheme::kMse);
  for (Simulation* s : {&mse, &percentile, &behind_mse}) {
    calibration_.rewind();
    s->calibrate(calibration_);
  }
  const std::vector<std::pair<std::string, Simulation*>> expected{
      {"x", &mse}, {"w1", &mse}, {"r", &behind_mse}, {"w2", &percentile}};
  for (const auto& [name, other] : expected)
    EXPECT_EQ(sim_.quantizer(name)->encoding(), other->quantizer(name)->encoding()) << name;
  EXPECT_EQ(sim_.quantizer("w1")->scheme(), Scheme::kMse);
  EXPECT_DOUBLE_EQ(sim_.quantizer("r")->percentile(), 99);
}

TEST_F(MixRanges, APolicyIsCalibratedToWhatWasMeasuredWhereAllWeightsHaveOneWidth) {
  const MixResult r = run(sim_, {"W8A16", "W8A8"}, {"bops<=0.8"});
  EXPECT_THAT(r.chosen->by_group, Contains(parse_mix_candidate("W8A16")));
  EXPECT_THAT(r.chosen->by_group, Contains(parse_mix_candidate("W8A8")));
  Simulation fresh(model_);
  apply_mix_policy(fresh, mix_policy_json(sim_, r));
  calibration_.rewind();
  fresh.calibrate(calibration_);
  for (const std::string& name : sim_.tensor_names())
    EXPECT_EQ(fresh.quantizer(name)->encoding(), sim_.quantizer(name)->encoding()) << name;
}

TEST_F(MixRanges, OneCalibrationForEachEstimatorAndNoneTheSecondTime) {
  const bitsweep::testing::OwnFolder folder;
  run_directory_ = folder.path();
  const std::vector<std::string> candidates{"W8A8", "W8A8@mse", "W4A8", "W4A8@mse"};
  const MixResult cold = run(sim_, candidates, {"bops<=0.8"});
  EXPECT_EQ(num_calibrated_, 2 * 4);
  num_calibrated_ = 0;
  Simulation again(model_);
  const MixResult warm = run(again, candidates, {"bops<=0.8"});
  EXPECT_EQ(num_calibrated_, 0);
  EXPECT_EQ(warm.num_run, 0);
  EXPECT_EQ(warm.chosen->by_group, cold.chosen->by_group);
  // Another granularity is another run of its weights, and no calibration.
  Simulation third(model_);
  const MixResult other = run(third, {"W8A8", "W4A8", "W4A8@block8"}, {"bops<=0.8"});
  EXPECT_EQ(num_calibrated_, 0);
  EXPECT_GT(other.num_run, 0);
  EXPECT_GT(other.num_kept, 0);
}

// Sessions hold quantized weights by their version.
TEST_F(MixRanges, CandidatesWithTheSameWeightsShareTheirVersion) {
  MixOptions options;
  for (const char* c : {"W8A16", "W8A8", "W4A8"})
    options.candidates.push_back(parse_mix_candidate(c));
  const allocate::MixGroups groups = allocate::make_mix_groups(sim_, options);
  allocate::EncodingBank bank(sim_, groups.groups, options.candidates, calibration_,
                              [](const char*, std::int64_t, std::int64_t) {});
  std::vector<std::uint64_t> versions;
  for (int c = 0; c < 3; ++c) {
    bank.set_all(c);
    versions.push_back(sim_.quantizer("w1")->version());
  }
  EXPECT_EQ(versions[0], versions[1]);
  EXPECT_NE(versions[0], versions[2]);
}

TEST_F(MixRanges, AFailureLeavesGranularityAndEstimatorAsTheyWere) {
  sim_.quantizer("w1")->set_granularity({.channel_axis = 1});
  sim_.calibrate(calibration_);
  const std::optional<Encoding> before = sim_.quantizer("w1")->encoding();
  EXPECT_NE(run(sim_, {"W8A8@block8@mse", "W4A8"}, {"bytes<=1B"}).infeasible, "");
  EXPECT_EQ(sim_.quantizer("w1")->encoding(), before);
  EXPECT_EQ(sim_.quantizer("w1")->scheme(), Scheme::kMinMax);
}

TEST_F(MixRanges, APolicyKeepsGranularityAndEstimator) {
  const MixResult r =
      run(sim_, {"W8A8", "W4A8@block16", "W4A8@per_channel@percentile99.5"}, {"bops<=1"},
          {{"w1", "W4A8@block16"}, {"w2", "W4A8@per_channel@percentile99.5"}});
  const std::string policy = mix_policy_json(sim_, r);
  Simulation fresh(model_);
  apply_mix_policy(fresh, policy);
  for (const std::string& name : sim_.tensor_names()) {
    const Quantizer& now = *fresh.quantizer(name);
    const Quantizer& wanted = *sim_.quantizer(name);
    EXPECT_EQ(now.format(), wanted.format()) << name;
    EXPECT_EQ(now.granularity(), wanted.granularity()) << name;
    EXPECT_EQ(now.scheme(), wanted.scheme()) << name;
    EXPECT_EQ(now.percentile(), wanted.percentile()) << name;
  }
  for (const auto& [from, to, words] :
       {std::tuple{"block16", "block5", "\"w1\" has 64 input channels"},
        {"block16", "blocks", "\"blocks\" is no granularity"},
        {"percentile99.5", "percentile0", "has no percent above 0"}}) {
    std::string bad = policy;
    for (std::size_t at = bad.find(from); at != std::string::npos; at = bad.find(from, at + 1))
      bad.replace(at, std::string(from).size(), to);
    Simulation untouched(model_);
    EXPECT_THAT(refusal([&] { apply_mix_policy(untouched, bad); }), HasSubstr(words));
    EXPECT_EQ(untouched.quantizer("w1")->format(), Format::integer(8)) << to;
  }
}

TEST_F(MixRanges, MoreBitsOrderOnlyCandidatesOfTheSameRanges) {
  // The repair of losses must not make blocks and the whole equal.
  MixOptions options{
      .candidates = {parse_mix_candidate("W4A16@per_tensor"), parse_mix_candidate("W4A16@block8")}};
  const MixProblem p = mix_problem(sim_, calibration_, search_, options);
  for (std::size_t g = 0; g < p.groups.size(); ++g) {
    if (p.groups[g].parameters.empty()) continue;
    EXPECT_LT(p.problem.loss[g][1], p.problem.loss[g][0]);
  }
}

TEST_F(MixRanges, TheGreedySearchTakesTypesOnly) {
  GreedyOptions options{.candidates = {parse_mix_candidate("W8A8@mse")}};
  class Nobody : public GreedyEvaluator {
    void run_calibration_samples() override {}
    double score_phase1() override { return 0.0; }
    double score_phase2() override { return 0.0; }
    Known recall(const std::string&) override { return {}; }
    void keep_entries(const std::vector<GreedyEntry>&) override {}
    void keep_points(const std::vector<GreedyPoint>&) override {}
  } nobody;
  EXPECT_THAT(refusal([&] { greedy_search(sim_, options, nobody); }),
              HasSubstr("int8/int8@mse is more than a pair of types"));
}

}  // namespace
}  // namespace bitsweep
