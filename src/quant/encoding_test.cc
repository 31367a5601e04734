#include "bitsweep/encoding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "bitsweep/error.h"

namespace bitsweep {
namespace {

constexpr AffineOptions kAsymmetric8 = {.bitwidth = 8};
constexpr AffineOptions kSymmetric8 = {.bitwidth = 8, .symmetric = true};
constexpr AffineOptions kStrict8 = {.bitwidth = 8, .symmetric = true, .strict_symmetric = true};
constexpr AffineOptions kUnsigned8 = {.bitwidth = 8, .symmetric = true, .unsigned_symmetric = true};

TEST(MakeEncoding, RepresentsZeroExactlyWhenTheRangeIsAllPositive) {
  const AffineEncoding e = make_encoding(2.0, 10.0, kAsymmetric8);
  EXPECT_EQ(e.min, 0.0);
  EXPECT_EQ(e.offset, 0.0);
  EXPECT_DOUBLE_EQ(e.delta, 10.0 / 255.0);
  EXPECT_DOUBLE_EQ(e.max, 10.0);
}

TEST(MakeEncoding, RepresentsZeroExactlyWhenTheRangeIsAllNegative) {
  const AffineEncoding e = make_encoding(-10.0, -2.0, kAsymmetric8);
  EXPECT_EQ(e.offset, -255.0);
  EXPECT_EQ(e.max, 0.0);
}

TEST(MakeEncoding, PutsTheAsymmetricZeroPointOnTheNearestCode) {
  const AffineEncoding e = make_encoding(-1.0, 3.0, kAsymmetric8);
  EXPECT_DOUBLE_EQ(e.delta, 4.0 / 255.0);
  EXPECT_EQ(e.offset, -64.0);
}

TEST(MakeEncoding, UsesBothSidesOfASymmetricGrid) {
  EXPECT_DOUBLE_EQ(make_encoding(-1.0, 0.5, kSymmetric8).delta, 1.0 / 128.0);
  EXPECT_DOUBLE_EQ(make_encoding(-0.5, 1.0, kSymmetric8).delta, 1.0 / 127.0);
  EXPECT_EQ(make_encoding(-1.0, 0.5, kSymmetric8).offset, -128.0);
}

TEST(MakeEncoding, StrictSymmetricDropsTheMostNegativeCode) {
  const AffineEncoding e = make_encoding(-1.0, 0.5, kStrict8);
  EXPECT_DOUBLE_EQ(e.delta, 1.0 / 127.0);
  EXPECT_EQ(e.offset, -127.0);
  EXPECT_DOUBLE_EQ(e.min, -e.max);
}

TEST(MakeEncoding, UnsignedSymmetricStartsAtZeroOnlyWithoutNegativeValues) {
  EXPECT_EQ(make_encoding(0.0, 1.0, kUnsigned8).offset, 0.0);
  EXPECT_DOUBLE_EQ(make_encoding(0.0, 1.0, kUnsigned8).delta, 1.0 / 255.0);
  EXPECT_EQ(make_encoding(-0.01, 1.0, kUnsigned8), make_encoding(-0.01, 1.0, kSymmetric8));
}

TEST(MakeEncoding, TwoBitSymmetricDividesByTheNegativeSide) {
  const AffineEncoding e = make_encoding(-1.0, 1.0, {.bitwidth = 2, .symmetric = true});
  EXPECT_EQ(e.delta, 0.5);
  EXPECT_EQ(e.offset, -2.0);
  const AffineEncoding shifted =
      make_encoding(-1.0, 1.0, {.bitwidth = 2, .symmetric = true, .zero_point_shift = 0.5});
  EXPECT_DOUBLE_EQ(shifted.delta, 1.0 / 1.5);
  EXPECT_EQ(shifted.offset, -1.5);
}

TEST(MakeEncoding, AnEmptyRangeGetsTheSmallestStep) {
  EXPECT_EQ(make_encoding(0.0, 0.0, kAsymmetric8).delta, 0x1p-23);
  EXPECT_EQ(make_encoding(0.0, 0.0, kSymmetric8).offset, -128.0);
  EXPECT_DOUBLE_EQ(make_encoding(0.0, 0.0, {.bitwidth = 32}).delta, 0.01 / 4294967295.0);
}

TEST(MakeEncoding, InfiniteBoundsStayInsideFloat32) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const AffineOptions& options : {kAsymmetric8, kSymmetric8, kStrict8}) {
    const AffineEncoding e = make_encoding(-kInf, kInf, options);
    EXPECT_TRUE(std::isfinite(static_cast<float>(e.min)));
    EXPECT_TRUE(std::isfinite(static_cast<float>(e.max)));
  }
}

TEST(MakeEncoding, CoversTheRangeWithinHalfAStepForEveryWidthAndMode) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> log10(-6.0, 6.0);
  for (int trial = 0; trial < 2000; ++trial) {
    AffineOptions options = {.bitwidth = 3 + trial % 14};
    options.symmetric = trial % 3 != 0;
    options.strict_symmetric = options.symmetric && trial % 2 == 0;
    const double min = -std::pow(10.0, log10(random));
    const double max = std::pow(10.0, log10(random));
    const AffineEncoding e = make_encoding(min, max, options);
    ASSERT_LE(e.min, min + 0.5 * e.delta * 1.000001) << "trial " << trial;
    ASSERT_GE(e.max, max - 0.5 * e.delta * 1.000001) << "trial " << trial;
    ASSERT_EQ(e.offset, std::round(e.offset));
    ASSERT_EQ(e.delta * (e.offset - e.offset), 0.0);
  }
}

TEST(MakeEncoding, RefusesWhatIsNotARange) {
  EXPECT_THROW(make_encoding(1.0, 0.0, kAsymmetric8), Error);
  EXPECT_THROW(make_encoding(std::nan(""), 0.0, kAsymmetric8), Error);
  EXPECT_THROW(make_encoding(0.0, std::nan(""), kAsymmetric8), Error);
  EXPECT_THROW(make_encoding(0.0, 1.0, {.bitwidth = 1}), Error);
}

TEST(MakeEncoding, AShiftedZeroPointExcludesTheOtherModes) {
  EXPECT_THROW(make_encoding(-1.0, 1.0, {.bitwidth = 2, .zero_point_shift = 0.5}), Error);
  EXPECT_THROW(
      make_encoding(
          -1.0, 1.0,
          {.bitwidth = 2, .symmetric = true, .strict_symmetric = true, .zero_point_shift = 0.5}),
      Error);
  EXPECT_THROW(
      make_encoding(
          0.0, 1.0,
          {.bitwidth = 2, .symmetric = true, .unsigned_symmetric = true, .zero_point_shift = 0.5}),
      Error);
}

}  // namespace
}  // namespace bitsweep
