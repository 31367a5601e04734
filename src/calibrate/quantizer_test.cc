#include "bitsweep/quantizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/half.h"
#include "bitsweep/error.h"
#include "quant/fake_quant_plan.h"

namespace bitsweep {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

void observe(Quantizer& q, const std::vector<float>& values) {
  q.observe(values.data(), {static_cast<std::int64_t>(values.size())});
}

Quantizer calibrated(const std::vector<float>& values = {-1.0F, 0.25F, 3.0F}) {
  Quantizer q("x");
  observe(q, values);
  q.compute_encoding();
  return q;
}

TEST(Quantizer, CalibratesFromWhatItObserved) {
  Quantizer q("x");
  observe(q, {-1.0F, 0.0F});
  observe(q, {3.0F});
  q.compute_encoding();
  ASSERT_TRUE(q.initialized());
  EXPECT_EQ(q.encoding()->cells[0], make_encoding(-1.0, 3.0, {.bitwidth = 8}));
  EXPECT_EQ(q.encoding()->grid, Shape{});
}

TEST(Quantizer, AskingForAnEncodingWithoutDataNamesTheTensor) {
  Quantizer q("conv1.out");
  try {
    q.compute_encoding();
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kNotReady);
    EXPECT_NE(std::string(e.what()).find("conv1.out"), std::string::npos) << e.what();
  }
  EXPECT_THROW(q.plan(), Error);
  observe(q, {kNan, kInf});
  try {
    q.compute_encoding();
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("NaN"), std::string::npos) << e.what();
  }
}

TEST(Quantizer, SkipsAndCountsValuesThatAreNotFinite) {
  const Quantizer q = calibrated({kNan, 1.0F, -kInf, -2.0F, kInf});
  EXPECT_EQ(q.num_non_finite(), 3);
  EXPECT_EQ(q.encoding()->cells[0], make_encoding(-2.0, 1.0, {.bitwidth = 8}));
}

TEST(Quantizer, HalfTensorsAreObservedAsFloats) {
  Quantizer q("x");
  const std::vector<std::uint16_t> values = {float_to_half(-1.0F), float_to_half(2.0F)};
  q.observe(Tensor::borrow(DataType::kFloat16, {2}, values.data(), nullptr));
  q.compute_encoding();
  EXPECT_EQ(q.encoding()->cells[0], make_encoding(-1.0, 2.0, {.bitwidth = 8}));
  const Tensor y = q.fake_quant(Tensor::borrow(DataType::kFloat16, {2}, values.data(), nullptr));
  EXPECT_EQ(y.type(), DataType::kFloat16);
}

TEST(Quantizer, PerChannelHasOneCellPerChannel) {
  Quantizer q("w");
  q.set_tensor_shape({2, 3});
  q.set_granularity({.channel_axis = 0});
  const std::vector<float> w = {-1.0F, 0.5F, 1.0F, -8.0F, 4.0F, 0.0F};
  q.observe(w.data(), {2, 3});
  q.compute_encoding();
  EXPECT_EQ(q.encoding()->grid, (Shape{2, 1}));
  EXPECT_EQ(q.encoding()->cells[1], make_encoding(-8.0, 4.0, {.bitwidth = 8}));
}

TEST(Quantizer, EverySettingThatChangesResultsDropsTheEncoding) {
  const std::vector<std::pair<const char*, void (*)(Quantizer&)>> changes = {
      {"format", [](Quantizer& q) { q.set_format(Format::parse("float8e5m2")); }},
      {"bitwidth", [](Quantizer& q) { q.set_bitwidth(4); }},
      {"symmetric", [](Quantizer& q) { q.set_symmetric(true); }},
      {"strict", [](Quantizer& q) { q.set_strict_symmetric(true); }},
      {"unsigned", [](Quantizer& q) { q.set_unsigned_symmetric(true); }},
      {"scheme", [](Quantizer& q) { q.set_scheme(Scheme::kMse); }},
      {"shift", [](Quantizer& q) { q.set_zero_point_shift(0.5); }},
      {"fixed", [](Quantizer& q) { q.set_fixed_range(Quantizer::FixedRange{0.0, 1.0}); }},
      {"lpbq", [](Quantizer& q) { q.set_lpbq(Lpbq{}); }},
      {"clear", [](Quantizer& q) { q.clear_encoding(); }},
  };
  for (const auto& [name, change] : changes) {
    Quantizer q = calibrated();
    const std::uint64_t before = q.version();
    change(q);
    EXPECT_FALSE(q.initialized()) << name;
    EXPECT_NE(q.version(), before) << name;
    const std::uint64_t after = q.version();
    change(q);  // the second time nothing changes, except for an explicit clear
    if (std::string(name) != "clear") {
      EXPECT_EQ(q.version(), after) << name;
    }
  }
}

TEST(Quantizer, AnotherBitwidthKeepsTheStatistics) {
  Quantizer q = calibrated();
  q.set_bitwidth(4);
  ASSERT_TRUE(q.has_statistics());
  q.compute_encoding();
  EXPECT_EQ(q.encoding()->cells[0], make_encoding(-1.0, 3.0, {.bitwidth = 4}));
  q.set_format(Format::integer(6));
  EXPECT_FALSE(q.has_statistics());
}

TEST(Quantizer, FrozenIgnoresEveryChangeUntilUnfrozen) {
  Quantizer q = calibrated();
  const Encoding before = *q.encoding();
  const std::uint64_t version = q.version();
  q.freeze();
  q.set_bitwidth(4);
  q.set_symmetric(true);
  q.set_format(Format::parse("float16"));
  q.reset_statistics();
  observe(q, {100.0F});
  q.compute_encoding();
  q.clear_encoding();
  Encoding other = before;
  other.cells[0] = make_encoding(0.0, 7.0, {});
  q.load_encoding(other);
  EXPECT_EQ(q.clip_encoding(0.1), std::nullopt);
  EXPECT_EQ(*q.encoding(), before);
  EXPECT_EQ(q.version(), version);
  q.unfreeze();
  q.set_bitwidth(4);
  EXPECT_EQ(q.bitwidth(), 4);
}

TEST(Quantizer, CastFormatsNeedNoEncoding) {
  Quantizer q("x");
  q.set_format(Format::parse("float16"));
  EXPECT_TRUE(q.initialized());
  q.compute_encoding();
  EXPECT_EQ(q.encoding(), std::nullopt);
  float x = 1.0001F;
  q.fake_quant(&x, &x, {});
  EXPECT_EQ(x, 1.0F);
  EXPECT_THROW(q.set_bitwidth(8), Error);
}

TEST(Quantizer, Float8CoversTheLargestMagnitudeExactly) {
  Quantizer q("x");
  q.set_format(Format::parse("float8e4m3fn"));
  observe(q, {-1.0F, 2.0F});
  q.compute_encoding();
  EXPECT_DOUBLE_EQ(q.encoding()->cells[0].delta, 2.0 / 448.0);
}

TEST(Quantizer, AFixedSideReplacesTheObservedOne) {
  Quantizer q("x");
  q.set_symmetric(true);
  q.set_fixed_range(Quantizer::FixedRange{0.0, 1.0});
  observe(q, {-5.0F, 5.0F});
  q.compute_encoding();
  EXPECT_DOUBLE_EQ(q.encoding()->cells[0].delta, 1.0 / 127.0);
  EXPECT_THROW(q.set_fixed_range(Quantizer::FixedRange{1.0, 0.0}), Error);
}

TEST(Quantizer, ClippingReportsWhetherItChangedAnything) {
  Quantizer q = calibrated();
  EXPECT_EQ(q.clip_encoding(100.0), std::optional(false));
  EXPECT_EQ(q.clip_encoding(0.5), std::optional(true));
  EXPECT_EQ(q.encoding()->cells[0].max, 0.5);
  q.set_enabled(false);
  EXPECT_EQ(q.clip_encoding(0.1), std::nullopt);
}

TEST(Quantizer, LpbqScalesAreMultiplesOfAChannelScale) {
  Quantizer q("w");
  q.set_symmetric(true);
  q.set_bitwidth(4);
  q.set_tensor_shape({2, 8});
  q.set_granularity({.channel_axis = 0, .block_axis = 1, .block_size = 2});
  q.set_lpbq(Lpbq{.scale_bits = 3});
  std::vector<float> w(16);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = 0.3F * static_cast<float>(i + 1);
  q.observe(w.data(), {2, 8});
  q.compute_encoding();
  for (std::size_t channel = 0; channel < 2; ++channel) {
    const double unit = q.encoding()->cells[channel * 4 + 3].delta / 8.0;
    for (std::size_t block = 0; block < 4; ++block) {
      const double multiple = q.encoding()->cells[channel * 4 + block].delta / unit;
      EXPECT_NEAR(multiple, std::round(multiple), 1e-9);
      EXPECT_GE(multiple, 1.0);
      EXPECT_LE(multiple, 8.0);
    }
  }
}

TEST(Quantizer, LpbqWithoutBlocksIsRefused) {
  Quantizer q("w");
  q.set_lpbq(Lpbq{});
  observe(q, {1.0F});
  EXPECT_THROW(q.compute_encoding(), Error);
  EXPECT_THROW(q.set_lpbq(Lpbq{.scale_bits = 0}), Error);
}

TEST(Quantizer, LoadingTakesFormatAndGranularityAlong) {
  Quantizer q("w");
  q.set_tensor_shape({2, 3});
  Encoding e{.format = Format::integer(4),
             .granularity = {.channel_axis = 0},
             .grid = {2, 1},
             .cells = {}};
  e.cells.assign(2, make_encoding(-1.0, 1.0, {.bitwidth = 4}));
  q.load_encoding(e);
  EXPECT_EQ(q.bitwidth(), 4);
  EXPECT_EQ(q.granularity().channel_axis, 0);
  e.grid = {3, 1};
  e.cells.push_back(e.cells[0]);
  EXPECT_THROW(q.load_encoding(e), Error);
  EXPECT_EQ(q.encoding()->cells.size(), 2U);
}

TEST(Quantizer, RestoreBringsBackTheStateAndItsVersion) {
  Quantizer q = calibrated();
  const auto snapshot = q.snapshot();
  const std::uint64_t version = q.version();
  const auto plan = q.plan();
  q.set_bitwidth(4);
  q.set_enabled(false);
  EXPECT_NE(q.version(), version);
  q.restore(*snapshot);
  EXPECT_EQ(q.version(), version);
  EXPECT_EQ(q.plan(), plan);
  EXPECT_TRUE(q.enabled());
  EXPECT_EQ(q.bitwidth(), 8);
}

TEST(Quantizer, VersionsAreUniqueOverAllQuantizers) {
  const Quantizer a = calibrated();
  const Quantizer b = calibrated();
  EXPECT_NE(a.version(), b.version());
}

TEST(Quantizer, AxesThatDoNotFitAreRefused) {
  Quantizer q("w");
  q.set_tensor_shape({4, 6});
  EXPECT_THROW(q.set_granularity({.channel_axis = 2}), Error);
  EXPECT_THROW(q.set_granularity({.channel_axis = 0, .block_axis = 1, .block_size = 4}), Error);
  EXPECT_TRUE(q.granularity().per_tensor());
}

TEST(Quantizer, HistogramsExistForTheSchemesThatKeepOne) {
  EXPECT_THROW(calibrated().histograms(), Error);
  for (const Scheme scheme :
       {Scheme::kTfEnhanced, Scheme::kPercentile, Scheme::kMse, Scheme::kEntropy}) {
    Quantizer q("x");
    q.set_scheme(scheme);
    observe(q, {-1.0F, 0.5F, 0.5F, 3.0F});
    const auto cells = q.histograms();
    ASSERT_EQ(cells.size(), 1U);
    double mass = 0.0;
    for (const HistogramBucket& bucket : cells[0]) mass += bucket.mass;
    EXPECT_NEAR(mass, 1.0, 1e-12) << scheme_name(scheme);
  }
}

}  // namespace
}  // namespace bitsweep
