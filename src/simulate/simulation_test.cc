#include "bitsweep/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "bitsweep/error.h"
#include "bitsweep/sequence.h"
#include "graph/testing/model_builder.h"
#include "simulate/engine.h"
#include "simulate/testing/nets.h"
#include "simulate/whole_runs.h"

namespace bitsweep {
namespace {

using simulate::testing::calibrate;
using simulate::testing::net;
using simulate::testing::nets;
using simulate::testing::samples;
using simulate::testing::VectorSource;
using ::testing::HasSubstr;

template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Simulation, WithEveryQuantizerOffGivesTheBitsOfTheFloatModel) {
  for (const auto& [name, model] : nets()) {
    Simulation sim(model);
    const std::vector<Feed> feeds = samples(model, 2);
    calibrate(sim, feeds);
    for (const std::string& tensor : sim.tensor_names()) sim.quantizer(tensor)->set_enabled(false);
    const std::vector<Tensor> off = sim.run(feeds[0]);
    const std::vector<Tensor> plain = sim.run_float(feeds[0]);
    ASSERT_EQ(off.size(), plain.size()) << name;
    for (std::size_t i = 0; i < off.size(); ++i)
      EXPECT_TRUE(off[i].equal_bits(plain[i])) << name << " output " << i;
  }
}

TEST(Simulation, EachEnabledQuantizerAloneChangesTheOutputs) {
  const Model model = net("residual");
  Simulation sim(model, {.activation_format = Format::integer(4)});
  const std::vector<Feed> feeds = samples(model, 3);
  calibrate(sim, feeds);
  std::vector<std::string> enabled;
  for (const std::string& tensor : sim.tensor_names()) {
    if (sim.quantizer(tensor)->enabled()) enabled.push_back(tensor);
  }
  ASSERT_GT(enabled.size(), 10U);
  for (const std::string& tensor : enabled) sim.quantizer(tensor)->set_enabled(false);
  const std::vector<Tensor> plain = sim.run_float(feeds[0]);
  for (const std::string& tensor : enabled) {
    sim.quantizer(tensor)->set_enabled(true);
    EXPECT_FALSE(sim.run(feeds[0])[0].equal_bits(plain[0])) << tensor;
    sim.quantizer(tensor)->set_enabled(false);
  }
}

TEST(Simulation, OutputOfAQuantizedGraphOutputLiesOnItsGrid) {
  const Model model = net("chain");
  Simulation sim(model);
  const std::vector<Feed> feeds = samples(model, 3);
  calibrate(sim, feeds);
  const AffineEncoding grid = sim.quantizer("y")->encoding()->cells.front();
  for (const float y : sim.run(feeds[1])[0].floats()) {
    const double steps = static_cast<double>(y) / static_cast<float>(grid.delta);
    EXPECT_NEAR(steps, std::round(steps), 1e-3);
  }
}

TEST(Simulation, MinMaxCalibrationCoversTheDataAndNothingElse) {
  const Model model = net("shared_weight");
  Simulation sim(model);
  const std::vector<Feed> feeds = samples(model, 4);
  calibrate(sim, feeds);
  float low = 0.0F;
  float high = 0.0F;
  for (const Feed& feed : feeds) {
    for (const float v : feed.at("x").floats()) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
  }
  const AffineEncoding cell = sim.quantizer("x")->encoding()->cells.front();
  EXPECT_NEAR(cell.delta, (static_cast<double>(high) - low) / 255.0, 1e-12);
}

TEST(Simulation, AnUncalibratedQuantizerIsNamed) {
  const Model model = net("chain");
  Simulation sim(model);
  EXPECT_THAT(message_of([&] { sim.run(samples(model, 1)[0]); }),
              HasSubstr("has no encoding; calibrate first"));
}

TEST(Simulation, AnAbortedCalibrationPutsTheOldEncodingsBack) {
  const Model model = net("chain");
  Simulation sim(model);
  calibrate(sim, samples(model, 2));
  const Encoding before = *sim.quantizer("x")->encoding();
  sim.begin_calibration();
  sim.run(samples(model, 1, 99)[0]);
  sim.abort_calibration();
  EXPECT_EQ(*sim.quantizer("x")->encoding(), before);
}

TEST(Simulation, ACalibrationWithoutASampleFailsAndKeepsTheOldEncodings) {
  const Model model = net("chain");
  Simulation sim(model);
  calibrate(sim, samples(model, 2));
  const Encoding before = *sim.quantizer("x")->encoding();
  sim.begin_calibration();
  EXPECT_THAT(message_of([&] { sim.finish_calibration(); }), HasSubstr("no sample was run"));
  VectorSource none({});
  EXPECT_THAT(message_of([&] { sim.calibrate(none); }), HasSubstr("give at least one sample"));
  EXPECT_FALSE(sim.calibrating());
  EXPECT_EQ(*sim.quantizer("x")->encoding(), before);
}

TEST(Simulation, NonFiniteValuesAreSkippedAndCounted) {
  const Model model = net("shared_weight");
  Simulation sim(model);
  std::vector<Feed> feeds = samples(model, 2);
  feeds[0].at("x").mutable_floats()[3] = std::nanf("");
  calibrate(sim, feeds);
  EXPECT_TRUE(std::isfinite(sim.quantizer("x")->encoding()->cells.front().delta));
  bool found = false;
  for (const auto& [tensor, count] : sim.non_finite_counts())
    found = found || (tensor == "x" && count == 1);
  EXPECT_TRUE(found);
}

TEST(Simulation, AConstantOfInfinitiesIsLeftInFloatAndSaysWhy) {
  graph::testing::ModelBuilder m;
  m.input("x", {2, 4}).floats("mask", {}, {-std::numeric_limits<float>::infinity()});
  m.ints("zero", {}, {0});
  m.node("keep = Greater(x, half)").floats("half", {}, {0.5F});
  m.node("y = Where(keep, x, mask)").node("p = Softmax(y)").output("p");
  const Model model = m.model();
  Simulation sim(model);
  std::vector<Feed> feeds = samples(model, 2);
  for (Feed& feed : feeds)
    feed.at("x").mutable_floats()[0] = feed.at("x").mutable_floats()[4] = 0.75F;
  calibrate(sim, feeds);
  EXPECT_FALSE(sim.quantizer("mask")->enabled());
  bool told = false;
  for (const TensorReport& row : sim.describe()) {
    told = told ||
           (row.tensor == "mask" && row.reason.find("zeros and infinities") != std::string::npos);
  }
  EXPECT_TRUE(told);
}

// x plus a mask of zeros and -inf, as attentions add it to their scores.
TEST(Simulation, AMaskOfInfinitiesStaysInFloatAndTheMaskedScoresGetTheRangeOfTheRest) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Scheme scheme : {Scheme::kMinMax, Scheme::kTfEnhanced, Scheme::kPercentile,
                              Scheme::kMse, Scheme::kEntropy}) {
    graph::testing::ModelBuilder m;
    m.input("x", {1, 4}).input("mask", {1, 4});
    m.node("scores = Add(x, mask)").node("p = Softmax(scores)").output("p");
    SimulationOptions options;
    options.scheme = scheme;
    Simulation sim(m.model(), options);
    Feed feed = samples(sim.model(), 1)[0];
    const std::vector<float> x = {1.0F, -2.0F, 3.0F, -4.0F};
    const std::vector<float> mask = {0.0F, 0.0F, 0.0F, -kInfinity};
    std::copy(x.begin(), x.end(), feed.at("x").mutable_floats().begin());
    std::copy(mask.begin(), mask.end(), feed.at("mask").mutable_floats().begin());
    calibrate(sim, {feed});
    EXPECT_FALSE(sim.quantizer("mask")->enabled()) << scheme_name(scheme);
    ASSERT_TRUE(sim.quantizer("scores")->enabled()) << scheme_name(scheme);
    const AffineEncoding& range = sim.quantizer("scores")->encoding()->cells.front();
    // Entropy clips some of so few values.
    EXPECT_GE(range.min, -2.1) << scheme_name(scheme);
    EXPECT_LT(range.min, -0.5) << scheme_name(scheme);
    EXPECT_GT(range.max, 1.0) << scheme_name(scheme);
    EXPECT_LE(range.max, 3.1) << scheme_name(scheme);
    bool counted = false;
    for (const auto& [tensor, count] : sim.non_finite_counts())
      counted = counted || (tensor == "scores" && count == 1);
    EXPECT_TRUE(counted) << scheme_name(scheme);
  }
}

TEST(Simulation, ATensorOfNaNsIsAnErrorThatNamesIt) {
  const Model model = net("shared_weight");
  Simulation sim(model);
  std::vector<Feed> feeds = samples(model, 1);
  for (float& value : feeds[0].at("x").mutable_floats()) value = std::nanf("");
  EXPECT_THROW(
      {
        try {
          calibrate(sim, feeds);
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find("\"x\""), std::string::npos) << error.what();
          throw;
        }
      },
      Error);
}

TEST(Simulation, BadSamplesGetOneSentence) {
  const Model model = net("several");
  Simulation sim(model);
  Feed feed = samples(model, 1)[0];
  Feed missing = feed;
  missing.erase("b");
  EXPECT_THAT(message_of([&] { sim.check_feed(missing); }),
              HasSubstr("input \"b\" is missing; feed every one of \"a\", \"b\""));
  Feed extra = feed;
  extra.emplace("c", feed.at("a"));
  EXPECT_THAT(message_of([&] { sim.check_feed(extra); }),
              HasSubstr("the model has no input \"c\"; its inputs are \"a\", \"b\""));
  Feed type = feed;
  type["a"] = Tensor::allocate(DataType::kDouble, feed.at("a").shape());
  EXPECT_THAT(message_of([&] { sim.check_feed(type); }),
              HasSubstr("is float64, the model wants float32"));
  Feed shape = feed;
  shape["a"] = Tensor::allocate(DataType::kFloat, {2, 4, 8, 8});
  EXPECT_THAT(message_of([&] { sim.check_feed(shape); }),
              HasSubstr("has shape [2,4,8,8], the model wants [d0,3,8,8]"));
}

TEST(Simulation, SamplesSideBySideGiveTheEncodingsOfOneAfterTheOther) {
  for (const auto& [name, model] : nets()) {
    const std::vector<Feed> feeds = samples(model, 7);
    for (const Scheme scheme : {Scheme::kMinMax, Scheme::kTfEnhanced}) {
      Simulation steps(model, {.scheme = scheme, .num_threads = 1});
      calibrate(steps, feeds);
      Simulation threads(model, {.scheme = scheme, .num_threads = 4});
      VectorSource source(feeds);
      EXPECT_EQ(threads.calibrate(source), 7);
      for (const std::string& tensor : steps.tensor_names()) {
        const Quantizer& expected = *steps.quantizer(tensor);
        const Quantizer& got = *threads.quantizer(tensor);
        ASSERT_EQ(got.initialized(), expected.initialized()) << name << " " << tensor;
        if (!expected.initialized() || !expected.format().needs_encoding()) continue;
        const auto& a = expected.encoding()->cells;
        const auto& b = got.encoding()->cells;
        ASSERT_EQ(a.size(), b.size()) << name << " " << tensor;
        for (std::size_t i = 0; i < a.size(); ++i) {
          EXPECT_EQ(a[i].delta, b[i].delta) << name << " " << tensor;
          EXPECT_EQ(a[i].offset, b[i].offset) << name << " " << tensor;
        }
      }
    }
  }
}

TEST(Simulation, ABadSampleAmongOthersEndsTheCalibrationAndKeepsTheOldEncodings) {
  const Model model = net("residual");
  Simulation sim(model, {.num_threads = 2});
  std::vector<Feed> feeds = samples(model, 6);
  calibrate(sim, feeds);
  const double before = sim.quantizer("y")->encoding()->cells.front().delta;
  for (Feed& feed : feeds) {
    for (float& v : feed.begin()->second.mutable_floats()) v *= 3.0F;
  }
  feeds[4].begin()->second = Tensor::allocate(DataType::kFloat, {1, 2});
  VectorSource source(feeds);
  EXPECT_THAT(message_of([&] { sim.calibrate(source); }), HasSubstr("\"x\""));
  EXPECT_EQ(sim.quantizer("y")->encoding()->cells.front().delta, before);
  EXPECT_FALSE(sim.calibrating());
}

TEST(Simulation, KnowsItsShapesAfterACalibrationWhoseSamplesAreGone) {
  const Model model = net("residual");
  Simulation sim(model);
  const auto macs = [&] {
    std::int64_t sum = 0;
    for (const OperatorInfo& op : sim.operators()) sum += op.macs;
    return sum;
  };
  EXPECT_EQ(macs(), 0);
  std::vector<Feed> feeds = samples(model, 2);
  calibrate(sim, feeds);
  for (Feed& feed : feeds) {
    for (auto& [name, value] : feed) std::ranges::fill(value.mutable_floats(), 0.0F);
  }
  feeds.clear();
  EXPECT_GT(macs(), 0);
}

TEST(Simulation, CalibrationStopsWhenAsked) {
  const Model model = net("chain");
  Simulation sim(model);
  VectorSource source(samples(model, 6));
  EXPECT_THAT(
      message_of([&] { sim.calibrate(source, [](std::int64_t done) { return done == 2; }); }),
      HasSubstr("stopped"));
  EXPECT_FALSE(sim.quantizer("y")->initialized());
}

TEST(Simulation, OnlyTheCpuProviderIsAccepted) {
  EXPECT_THAT(
      message_of([] { Simulation sim(net("chain"), {.providers = {"CUDAExecutionProvider"}}); }),
      HasSubstr("provider \"CUDAExecutionProvider\" is not supported"));
}

TEST(Simulation, DescribeListsEveryFloatTensorOnce) {
  const Model model = net("transformer");
  Simulation sim(model);
  std::map<std::string, int> seen;
  for (const TensorReport& row : sim.describe()) {
    ++seen[row.tensor];
    EXPECT_FALSE(row.status == "float" && row.reason.empty()) << row.tensor;
  }
  for (const auto& [tensor, count] : seen) EXPECT_EQ(count, 1) << tensor;
  for (const std::string tensor : {"h0", "qr0", "mask", "table", "ln0.g", "up0", "ub0", "h2"})
    EXPECT_EQ(seen[tensor], 1) << tensor;
}

TEST(Simulation, ATensorOfNothingButZerosSaysSo) {
  const Model model = net("residual");
  Simulation sim(model);
  const auto rows_with_zeros = [&] {
    int count = 0;
    for (const TensorReport& row : sim.describe())
      count += row.reason.find("only zeros were observed") != std::string::npos ? 1 : 0;
    return count;
  };
  std::vector<Feed> feeds = samples(model, 2);
  std::vector<Feed> zeros = feeds;
  for (Feed& feed : zeros) {
    for (auto& [name, tensor] : feed) {
      tensor = deep_copy(tensor);
      std::ranges::fill(tensor.mutable_floats(), 0.0F);
    }
  }
  calibrate(sim, zeros);
  EXPECT_GE(rows_with_zeros(), 1);
  calibrate(sim, feeds);
  EXPECT_EQ(rows_with_zeros(), 0);
}

TEST(Simulation, ASmallModelGivesTheSameBitsWithAndWithoutReuse) {
  Simulation sim(net("residual"));
  const std::vector<Feed> feeds = samples(sim.model(), 2);
  calibrate(sim, feeds);
  sim.begin_reuse({{"x"}});
  const std::vector<Tensor> reused = sim.run(feeds[1]);
  sim.end_reuse();
  const std::vector<Tensor> whole = sim.run(feeds[1]);
  for (std::size_t i = 0; i < reused.size(); ++i) EXPECT_TRUE(reused[i].equal_bits(whole[i]));
}

TEST(Simulation, CalibratingAgainAndAgainKeepsNoSessionOfEarlierEncodings) {
  const Model model = net("residual");
  Simulation sim(model);
  const std::vector<Feed> feeds = samples(model, 2);
  std::set<std::size_t> sizes;
  for (int i = 0; i < 5; ++i) {
    calibrate(sim, feeds);
    sim.run(feeds[0]);
    sim.run_float(feeds[0]);
    sizes.insert(sim.engine().sessions().size_bytes());
  }
  EXPECT_EQ(sizes.size(), 1U);
}

TEST(Simulation, ASnapshotKeepsTheSessionOfItsEncodingsForWhenTheyComeBack) {
  const Model model = net("residual");
  Simulation sim(model);
  const std::vector<Feed> feeds = samples(model, 2);
  const auto calibrated_size = [&] {
    calibrate(sim, feeds);
    sim.run(feeds[0]);
    return sim.engine().sessions().size_bytes();
  };
  const std::size_t alone = calibrated_size();
  std::vector<std::pair<std::shared_ptr<Quantizer>, std::shared_ptr<const Quantizer::Snapshot>>>
      before;
  for (const std::string& tensor : sim.tensor_names()) {
    std::shared_ptr<Quantizer> q = sim.quantizer(tensor);
    before.emplace_back(q, q->snapshot());
  }
  const std::size_t both = calibrated_size();
  EXPECT_GT(both, alone);
  for (const auto& [quantizer, snapshot] : before) quantizer->restore(*snapshot);
  sim.run(feeds[0]);
  EXPECT_EQ(sim.engine().sessions().size_bytes(), both);
  before.clear();
  EXPECT_EQ(calibrated_size(), alone);
}

}  // namespace
}  // namespace bitsweep
