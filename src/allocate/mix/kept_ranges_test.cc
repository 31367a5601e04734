#include "allocate/mix/kept_ranges.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/testing/own_folder.h"
#include "bitsweep/mix.h"
#include "simulate/testing/nets.h"

namespace bitsweep::allocate {
namespace {

using simulate::testing::net;
using simulate::testing::samples;
using simulate::testing::VectorSource;

class KeptRangesTest : public ::testing::Test {
 protected:
  /// Samples that were run for calibration, and the encodings that are left.
  std::pair<int, std::vector<std::optional<Encoding>>> run(const std::vector<Candidate>& candidates,
                                                           std::uint64_t calibration_seed,
                                                           Scheme scheme = Scheme::kMinMax) {
    Simulation sim(net("residual"), {.scheme = scheme});
    VectorSource calibration(samples(sim.model(), 3, calibration_seed));
    VectorSource search(samples(sim.model(), 2, 2));
    int calibrated = 0;
    MixOptions options{.candidates = candidates,
                       .targets = {parse_mix_target("bops<=0.8")},
                       .frontier_points = 0,
                       .run_directory = folder_};
    options.progress = [&](const MixProgress& p) {
      calibrated += p.stage == "calibrate" ? 1 : 0;
      return false;
    };
    mix(sim, calibration, search, nullptr, options);
    std::vector<std::optional<Encoding>> encodings;
    for (const std::string& name : sim.tensor_names())
      encodings.push_back(sim.quantizer(name)->encoding());
    return {calibrated, encodings};
  }

  const bitsweep::testing::OwnFolder own_;
  const std::filesystem::path folder_ = own_.path();
  const Candidate a8_{Format::integer(8), Format::integer(8)};
  const Candidate a16_{Format::integer(16), Format::integer(8)};
  const Candidate float_{Format::parse("float32"), Format::parse("float32")};
};

TEST_F(KeptRangesTest, ASecondMixDoesNotCalibrateAndHasTheSameEncodings) {
  const auto cold = run({a8_, a16_}, 1);
  EXPECT_EQ(cold.first, 3);
  const auto warm = run({a8_, a16_}, 1);
  EXPECT_EQ(warm.first, 0);
  EXPECT_EQ(warm.second, cold.second);
}

TEST_F(KeptRangesTest, FloatNeedsNoCalibrationAndANewWidthDoes) {
  run({a16_}, 1);
  EXPECT_EQ(run({a16_, float_}, 1).first, 0);
  EXPECT_EQ(run({a16_, a8_}, 1).first, 3);
}

TEST_F(KeptRangesTest, OtherSamplesAndOtherSchemesAreCalibrated) {
  run({a8_, a16_}, 1);
  EXPECT_EQ(run({a8_, a16_}, 4).first, 3);
  EXPECT_EQ(run({a8_, a16_}, 1, Scheme::kPercentile).first, 3);
}

}  // namespace
}  // namespace bitsweep::allocate
