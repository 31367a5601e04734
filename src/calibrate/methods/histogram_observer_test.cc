#include "calibrate/methods/histogram_observer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "bitsweep/error.h"
#include "quant/fake_quant_plan.h"

namespace bitsweep {
namespace {

constexpr Scheme kHistogramSchemes[] = {Scheme::kTfEnhanced, Scheme::kPercentile, Scheme::kMse,
                                        Scheme::kEntropy};
constexpr Scheme kAllSchemes[] = {Scheme::kMinMax, Scheme::kTfEnhanced, Scheme::kPercentile,
                                  Scheme::kMse, Scheme::kEntropy};

std::vector<float> normal(std::size_t n, std::uint32_t seed, float scale = 1.0F) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution(0.0F, scale);
  std::vector<float> values(n);
  for (float& v : values) v = distribution(random);
  return values;
}

ObserverOptions growing(Scheme scheme, double percentile = 100.0) {
  return {
      .scheme = scheme, .percentile = percentile, .histogram_support = HistogramSupport::kGrowing};
}

AffineEncoding encode(const ObserverOptions& options,
                      const std::vector<std::vector<float>>& batches,
                      const AffineOptions& affine = {}) {
  const auto observer = make_observer(options, {}, {});
  for (const auto& batch : batches)
    observer->observe(batch.data(), {static_cast<std::int64_t>(batch.size())});
  return observer->encodings(affine)[0];
}

double mean_squared_error(const AffineEncoding& cell, int bitwidth,
                          const std::vector<float>& values) {
  std::vector<float> y(values.size());
  FakeQuantPlan(
      Encoding{.format = Format::integer(bitwidth), .granularity = {}, .grid = {}, .cells = {cell}})
      .apply(values.data(), y.data(), {static_cast<std::int64_t>(values.size())});
  double sum = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i)
    sum += std::pow(static_cast<double>(values[i]) - y[i], 2.0);
  return sum / static_cast<double>(y.size());
}

TEST(Schemes, EveryNameParsesBackAndTfIsAnAlias) {
  for (const Scheme scheme : kAllSchemes) EXPECT_EQ(parse_scheme(scheme_name(scheme)), scheme);
  EXPECT_EQ(parse_scheme("tf"), Scheme::kMinMax);
  EXPECT_THROW(parse_scheme("psnr"), Error);
}

TEST(Schemes, APercentileOutsideItsBoundsIsRefused) {
  for (const double percentile : {0.0, -1.0, 100.1, std::nan("")}) {
    EXPECT_THROW(make_observer(growing(Scheme::kPercentile, percentile), {}, {}), Error)
        << percentile;
  }
}

TEST(Observers, AGrowingResultDoesNotDependOnHowSamplesAreBatched) {
  std::mt19937 random(5);
  std::vector<float> all = normal(400, 1);
  const std::vector<float> late = normal(300, 2, 50.0F);
  all.insert(all.end(), late.begin(), late.end());
  all.push_back(0.0F);
  for (const Scheme scheme : kAllSchemes) {
    for (const double percentile : {100.0, 99.0}) {
      const AffineEncoding whole = encode(growing(scheme, percentile), {all});
      for (int trial = 0; trial < 10; ++trial) {
        std::vector<float> shuffled = all;
        std::shuffle(shuffled.begin(), shuffled.end(), random);
        std::vector<std::vector<float>> batches;
        for (std::size_t i = 0; i < shuffled.size();) {
          const std::size_t stop = std::min(shuffled.size(), i + 1 + random() % 200);
          batches.emplace_back(shuffled.begin() + static_cast<std::ptrdiff_t>(i),
                               shuffled.begin() + static_cast<std::ptrdiff_t>(stop));
          i = stop;
        }
        ASSERT_EQ(encode(growing(scheme, percentile), batches), whole)
            << scheme_name(scheme) << " trial " << trial;
      }
    }
  }
}

TEST(Observers, RangesGrowWithLaterBatches) {
  for (const Scheme scheme : kAllSchemes) {
    const AffineEncoding e = encode(growing(scheme), {normal(1000, 1), normal(1000, 2, 100.0F)});
    EXPECT_GT(e.max, 100.0) << scheme_name(scheme);
    EXPECT_LT(e.min, -100.0) << scheme_name(scheme);
  }
}

TEST(Observers, TheCompatibleSupportStaysThatOfTheFirstBatch) {
  for (const Scheme scheme : {Scheme::kTfEnhanced, Scheme::kPercentile}) {
    const AffineEncoding e = encode({.scheme = scheme}, {{-1.0F, 1.0F}, {-100.0F, 100.0F}});
    EXPECT_LT(e.max, 3.0) << scheme_name(scheme);
  }
}

TEST(Observers, ValuesThatAreNotFiniteChangeNothingButTheirCount) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> clean = normal(300, 3);
  std::vector<float> dirty = clean;
  dirty.insert(dirty.begin() + 7, std::numeric_limits<float>::quiet_NaN());
  dirty.insert(dirty.begin() + 90, inf);
  dirty.push_back(-inf);
  for (const HistogramSupport support :
       {HistogramSupport::kFirstBatch, HistogramSupport::kGrowing}) {
    for (const Scheme scheme : kAllSchemes) {
      const ObserverOptions options = {
          .scheme = scheme, .percentile = 99.0, .histogram_support = support};
      EXPECT_EQ(encode(options, {dirty}), encode(options, {clean})) << scheme_name(scheme);
      const auto observer = make_observer(options, {}, {});
      observer->observe(dirty.data(), {static_cast<std::int64_t>(dirty.size())});
      EXPECT_EQ(observer->num_non_finite(), 3) << scheme_name(scheme);
    }
  }
}

TEST(Observers, NothingFiniteIsAnErrorAndNoRange) {
  const std::vector<float> values(5, std::numeric_limits<float>::quiet_NaN());
  for (const Scheme scheme : kAllSchemes) {
    EXPECT_THROW(encode(growing(scheme), {}), Error) << scheme_name(scheme);
    EXPECT_THROW(encode(growing(scheme), {values}), Error) << scheme_name(scheme);
    EXPECT_THROW(encode(growing(scheme), {{}}), Error) << scheme_name(scheme);
  }
}

TEST(Observers, OnlyZerosGiveAPositiveStepThatKeepsZero) {
  for (const HistogramSupport support :
       {HistogramSupport::kFirstBatch, HistogramSupport::kGrowing}) {
    for (const Scheme scheme : kAllSchemes) {
      for (const bool symmetric : {false, true}) {
        const AffineEncoding e =
            encode({.scheme = scheme, .histogram_support = support}, {{0.0F, -0.0F}, {0.0F}},
                   {.bitwidth = 8, .symmetric = symmetric});
        EXPECT_GT(e.delta, 0.0) << scheme_name(scheme);
        EXPECT_LE(e.min, 0.0);
        EXPECT_GE(e.max, 0.0);
        EXPECT_EQ(e.offset, std::round(e.offset));
        if (support == HistogramSupport::kGrowing) {
          EXPECT_EQ(e, make_encoding(0.0, 0.0, {.bitwidth = 8, .symmetric = symmetric}))
              << scheme_name(scheme);
        }
      }
    }
  }
}

TEST(Observers, ValuesThatAreNearlyAlikeAndFarFromZeroStayInRange) {
  for (const HistogramSupport support : {HistogramSupport::kFirstBatch, HistogramSupport::kGrowing})
    for (const Scheme scheme : kAllSchemes)
      for (const float centre : {20.0F, -1000.0F, 120409.0F, 1e6F, -3e7F})
        for (const float spread : {0.0F, 1e-7F, 1e-3F})
          for (const int bitwidth : {4, 8, 16}) {
            ObserverOptions options = growing(scheme);
            options.histogram_support = support;
            const std::vector<float> values = {centre, centre * (1.0F + spread)};
            const AffineEncoding e = encode(options, {values}, {.bitwidth = bitwidth});
            const double nearest =
                std::abs(centre) * (0.5 / (std::ldexp(1.0, bitwidth) - 1.0) + 2e-3);
            EXPECT_LE(std::sqrt(mean_squared_error(e, bitwidth, values)), nearest)
                << scheme_name(scheme) << " " << centre << " " << spread << " " << bitwidth;
          }
}

TEST(Observers, OneSidedDataPutsTheZeroPointAtAnEnd) {
  // Like the output of a Relu6 with a few outliers, and its mirror image.
  std::vector<float> positive(10000);
  std::mt19937 random(4);
  std::uniform_real_distribution<float> uniform(0.0F, 6.0F);
  for (float& v : positive) v = std::max(0.0F, uniform(random));
  positive[10] = 60.0F;
  positive[20] = 60.0F;
  std::vector<float> negative = positive;
  for (float& v : negative) v = -v;
  const AffineEncoding up = encode(growing(Scheme::kPercentile, 99.9), {positive});
  EXPECT_EQ(up.offset, 0.0);
  EXPECT_NEAR(up.max, 6.0, 0.1);
  const AffineEncoding down = encode(growing(Scheme::kPercentile, 99.9), {negative});
  EXPECT_EQ(down.offset, -255.0);
  EXPECT_NEAR(down.min, -6.0, 0.1);
  for (const Scheme scheme : {Scheme::kMse, Scheme::kEntropy, Scheme::kTfEnhanced}) {
    EXPECT_EQ(encode(growing(scheme), {positive}).offset, 0.0) << scheme_name(scheme);
    EXPECT_EQ(encode(growing(scheme), {negative}).offset, -255.0) << scheme_name(scheme);
  }
}

TEST(Percentile, AHundredPercentIsTheWholeRangeWhenGrowing) {
  const std::vector<float> x = normal(5000, 8);
  EXPECT_EQ(encode(growing(Scheme::kPercentile), {x}), encode(growing(Scheme::kMinMax), {x}));
}

TEST(Percentile, LeavesOutItsShareOnEachSide) {
  const std::vector<float> x = normal(20000, 8);
  const AffineEncoding e = encode(growing(Scheme::kPercentile, 99.0), {x});
  const auto outside =
      std::count_if(x.begin(), x.end(), [&](float v) { return v > e.max + e.delta; });
  EXPECT_NEAR(static_cast<double>(outside) / 20000.0, 0.01, 0.004);
}

TEST(Mse, HasNoMoreErrorThanMinMaxAndClipsLongTails) {
  for (const int bitwidth : {3, 4, 6, 8}) {
    for (const bool symmetric : {false, true}) {
      const AffineOptions options = {.bitwidth = bitwidth, .symmetric = symmetric};
      std::vector<float> x = normal(4000, 11);
      for (float& v : x) v = v * v * v;  // heavy tails
      const AffineEncoding mse = encode(growing(Scheme::kMse), {x}, options);
      const AffineEncoding all = encode(growing(Scheme::kMinMax), {x}, options);
      EXPECT_LE(mean_squared_error(mse, bitwidth, x), mean_squared_error(all, bitwidth, x) * 1.0001)
          << bitwidth;
      if (bitwidth <= 4) {
        EXPECT_LT(mse.max, all.max) << bitwidth;
      }
    }
  }
}

TEST(Entropy, ClipsFarOutliersAtEightBits) {
  std::vector<float> x = normal(50000, 12);
  x[0] = 400.0F;
  const AffineEncoding e =
      encode(growing(Scheme::kEntropy), {x}, {.bitwidth = 8, .symmetric = true});
  EXPECT_LT(e.max, 200.0);
  EXPECT_GT(e.max, 3.0);
}

TEST(Entropy, NeverClipsAllThatIsAwayFromZero) {
  for (const int repeats : {1, 3}) {
    for (const std::size_t num_zeros : {std::size_t{0}, std::size_t{2000}}) {
      std::vector<float> values(num_zeros, 0.0F);
      for (int i = 0; i < 64 * repeats; ++i)
        values.push_back(std::sqrt(0.5F + 1.5F / 63.0F * static_cast<float>(i % 64)));
      for (const int bitwidth : {4, 8}) {
        const AffineEncoding e =
            encode(growing(Scheme::kEntropy), {values}, {.bitwidth = bitwidth});
        EXPECT_GT(e.max, 1.2) << repeats << " times, " << num_zeros << " zeros, " << bitwidth;
      }
    }
  }
}

TEST(Entropy, KeepsTheWholeRangeWhereStepsAreFinerThanBuckets) {
  const std::vector<float> x = normal(1000, 13);
  const AffineOptions options = {.bitwidth = 16};
  EXPECT_EQ(encode(growing(Scheme::kEntropy), {x}, options),
            encode(growing(Scheme::kMinMax), {x}, options));
}

TEST(TfEnhanced, PrefersClippingLessThanMseDoes) {
  const std::vector<float> x = normal(20000, 14);
  const AffineOptions options = {.bitwidth = 4, .symmetric = true};
  EXPECT_GE(encode(growing(Scheme::kTfEnhanced), {x}, options).max,
            encode(growing(Scheme::kMse), {x}, options).max);
}

TEST(TfEnhanced, StaysFiniteAtTheEndsOfFloat32) {
  const float most = std::numeric_limits<float>::max();
  for (const HistogramSupport support :
       {HistogramSupport::kFirstBatch, HistogramSupport::kGrowing}) {
    for (const Scheme scheme : kAllSchemes) {
      for (const int bitwidth : {2, 8, 32}) {
        for (const bool symmetric : {false, true}) {
          const AffineEncoding e =
              encode({.scheme = scheme, .histogram_support = support}, {{-most, 0.0F, most}},
                     {.bitwidth = bitwidth, .symmetric = symmetric});
          EXPECT_GT(static_cast<float>(e.delta), 0.0F) << scheme_name(scheme);
          EXPECT_TRUE(std::isfinite(static_cast<float>(e.delta))) << scheme_name(scheme);
        }
      }
    }
  }
}

TEST(HistogramObserver, EveryCellEqualsAnObserverOfItsOwn) {
  const Shape shape = {4, 6, 10};
  const std::vector<float> x = normal(240, 15);
  for (const Scheme scheme : kHistogramSchemes) {
    for (const Granularity& g :
         {Granularity{.channel_axis = 1}, Granularity{.channel_axis = 2},
          Granularity{.channel_axis = 0, .block_axis = 1, .block_size = 3}}) {
      const ObserverOptions options = {.scheme = scheme, .percentile = 95.0};
      const auto observer = make_observer(options, g, shape);
      observer->observe(x.data(), shape);
      const std::vector<AffineEncoding> cells = observer->encodings({.bitwidth = 4});
      std::vector<std::vector<float>> by_cell(cells.size());
      const GridLayout layout(g, shape);
      layout.for_each_run(0, 240, [&](std::int64_t cell, std::int64_t first, std::int64_t count) {
        auto& values = by_cell[static_cast<std::size_t>(cell)];
        values.insert(values.end(), x.begin() + first, x.begin() + first + count);
      });
      for (std::size_t i = 0; i < cells.size(); ++i) {
        ASSERT_EQ(cells[i], encode(options, {by_cell[i]}, {.bitwidth = 4}))
            << scheme_name(scheme) << " cell " << i;
      }
    }
  }
}

TEST(HistogramObserver, HistogramsHaveEdgesAtEqualDistances) {
  const auto observer = make_observer({.scheme = Scheme::kTfEnhanced}, {}, {});
  const std::vector<float> x = {-1.0F, 0.0F, 0.25F, 2.0F};
  observer->observe(x.data(), {4});
  const auto buckets = observer->histograms()[0];
  ASSERT_GT(buckets.size(), 4U);
  const double width = buckets[1].left - buckets[0].left;
  for (std::size_t i = 1; i < buckets.size(); ++i) {
    EXPECT_NEAR(buckets[i].left - buckets[i - 1].left, width, 1e-9);
  }
  EXPECT_EQ(buckets.front().mass, 0.25);
  EXPECT_EQ(buckets.back().mass, 0.25);
}

TEST(Observers, AnotherNumberOfChannelsIsRefused) {
  const std::vector<float> x(12, 1.0F);
  for (const Scheme scheme : kAllSchemes) {
    const auto observer = make_observer(growing(scheme), {.channel_axis = 1}, {2, 3});
    observer->observe(x.data(), {4, 3});  // another batch size is fine
    EXPECT_THROW(observer->observe(x.data(), {3, 4}), Error);
  }
}

TEST(Observers, AShiftedZeroPointNeedsMinMax) {
  const AffineOptions shifted = {.bitwidth = 2, .symmetric = true, .zero_point_shift = 0.5};
  EXPECT_EQ(encode(growing(Scheme::kMinMax), {{-1.0F, 1.0F}}, shifted).offset, -1.5);
  for (const Scheme scheme : kHistogramSchemes) {
    EXPECT_THROW(encode(growing(scheme), {{-1.0F, 1.0F}}, shifted), Error) << scheme_name(scheme);
  }
}

}  // namespace
}  // namespace bitsweep
