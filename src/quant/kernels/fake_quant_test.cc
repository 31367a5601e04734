#include "quant/kernels/fake_quant.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "quant/formats/float8.h"

namespace bitsweep::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<const KernelTable*> tables() {
  std::size_t count = 0;
  const KernelTable* const* list = available_kernels(&count);
  return {list, list + count};
}

const KernelTable& reference() { return *tables().front(); }

// Sizes 0, 1, N-1, N, N+1, 3N+2 around the vector widths of every instruction set.
std::vector<std::size_t> sizes() {
  std::vector<std::size_t> list = {0, 1};
  for (const std::size_t width : {4, 8, 16, 32, 64}) {
    for (const std::size_t n : {width - 1, width, width + 1, 3 * width + 2}) list.push_back(n);
  }
  return list;
}

AffineGrid grid(float delta, float offset, float steps) {
  return {delta * offset, delta * (offset + steps), delta, offset};
}

const std::vector<AffineGrid>& grids() {
  static const std::vector<AffineGrid> list = {
      grid(1.0F, -128.0F, 255.0F),
      grid(0.1F, -3.0F, 15.0F),
      grid(0.0173F, -116.0F, 255.0F),
      grid(1.0F, 0.0F, 3.0F),
      grid(3.1e-5F, -32768.0F, 65535.0F),
      grid(0x1p-23F, -255.0F, 255.0F),
      grid(2.3e-10F, -2147483648.0F, 4294967295.0F),
      grid(1.3e36F, -128.0F, 255.0F),
      grid(0.6F, -1.5F, 3.0F),
  };
  return list;
}

// Values that meet every branch: exact half steps and their neighbours, the ends of the range,
// specials, random bits.
std::vector<float> hard_values(const AffineGrid& g, std::size_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> inside(g.min * 1.2F - g.delta, g.max * 1.2F + g.delta);
  const std::vector<float> special = {0.0F,
                                      -0.0F,
                                      kInf,
                                      -kInf,
                                      kNan,
                                      -kNan,
                                      g.min,
                                      g.max,
                                      std::numeric_limits<float>::max(),
                                      std::numeric_limits<float>::denorm_min(),
                                      -1e-30F};
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    switch (random() % 5) {
      case 0:
        values[i] = special[random() % special.size()];
        break;
      case 1: {
        const float half = (static_cast<float>(random() % 300) - 150.5F) * g.delta;
        const float towards = random() % 2 == 0 ? kInf : -kInf;
        values[i] = random() % 2 == 0 ? half : std::nextafter(half, towards);
        break;
      }
      case 2:
        values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        break;
      default:
        values[i] = inside(random);
    }
  }
  return values;
}

void expect_same_bits(const std::vector<float>& expected, const std::vector<float>& got,
                      const std::vector<float>& x, const std::string& where) {
  ASSERT_EQ(expected.size(), got.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]) && std::isnan(got[i]))
      continue;  // the payload of a NaN carries no meaning
    ASSERT_EQ(std::bit_cast<std::uint32_t>(expected[i]), std::bit_cast<std::uint32_t>(got[i]))
        << where << " element " << i << " input " << x[i] << ": " << expected[i] << " and "
        << got[i];
  }
}

TEST(FakeQuant, RoundsHalfStepsUpOnTheShiftedGrid) {
  const AffineGrid g = grid(1.0F, -128.0F, 255.0F);
  const std::vector<float> x = {-0.5F, 0.5F, -1.5F, 1.5F, 127.5F, -128.5F, 0.25F};
  const std::vector<float> expected = {0.0F, 1.0F, -1.0F, 2.0F, 127.0F, -128.0F, 0.0F};
  for (const KernelTable* table : tables()) {
    std::vector<float> y(x.size());
    table->fake_quant(x.data(), y.data(), x.size(), g);
    EXPECT_EQ(y, expected) << table->name;
  }
}

TEST(FakeQuant, TheFloatBelowOneHalfRoundsDown) {
  const AffineGrid g = grid(1.0F, 0.0F, 3.0F);
  const std::vector<float> x = {0.49999997F, 0.5F, 1.4999999F, 2.4999998F};
  const std::vector<float> expected = {0.0F, 1.0F, 1.0F, 2.0F};
  for (const KernelTable* table : tables()) {
    std::vector<float> y(x.size());
    table->fake_quant(x.data(), y.data(), x.size(), g);
    EXPECT_EQ(y, expected) << table->name;
  }
}

TEST(FakeQuant, NanStaysNanAndInfinitiesSaturate) {
  const AffineGrid g = grid(0.5F, -4.0F, 15.0F);
  for (const KernelTable* table : tables()) {
    for (std::size_t n = 3; n < 40; ++n) {
      std::vector<float> x(n, 0.5F);
      x[n - 3] = kNan;
      x[n - 2] = kInf;
      x[n - 1] = -kInf;
      table->fake_quant(x.data(), x.data(), n, g);
      EXPECT_TRUE(std::isnan(x[n - 3])) << table->name;
      EXPECT_EQ(x[n - 2], g.max) << table->name;
      EXPECT_EQ(x[n - 1], g.min) << table->name;
    }
  }
}

TEST(FakeQuant, EveryIsaMatchesTheReferenceBitForBit) {
  for (const KernelTable* table : tables()) {
    for (const AffineGrid& g : grids()) {
      for (const std::size_t n : sizes()) {
        for (std::size_t start = 0; start < 4;
             ++start) {  // starts that are not aligned to a vector
          const std::vector<float> x =
              hard_values(g, n + start, static_cast<std::uint32_t>(n + start));
          std::vector<float> expected = x;
          std::vector<float> y = x;
          reference().fake_quant(x.data() + start, expected.data() + start, n, g);
          table->fake_quant(x.data() + start, y.data() + start, n, g);
          expect_same_bits(expected, y, x, table->name);
          std::vector<float> in_place = x;
          table->fake_quant(in_place.data() + start, in_place.data() + start, n, g);
          expect_same_bits(expected, in_place, x, std::string(table->name) + " in place");
        }
      }
    }
  }
}

TEST(FakeQuant, EveryIsaMatchesTheReferenceOnManyRandomBitPatterns) {
  constexpr std::size_t kCount = 200000;
  for (const KernelTable* table : tables()) {
    for (const AffineGrid& g : grids()) {
      const std::vector<float> x = hard_values(g, kCount, 11);
      std::vector<float> expected(kCount);
      std::vector<float> y(kCount);
      reference().fake_quant(x.data(), expected.data(), kCount, g);
      table->fake_quant(x.data(), y.data(), kCount, g);
      expect_same_bits(expected, y, x, table->name);
    }
  }
}

TEST(Encode, GivesTheCodesThatFakeQuantMultiplies) {
  constexpr std::int32_t kCodeOfNan = 77777;
  for (const KernelTable* table : tables()) {
    for (const AffineGrid& g : grids()) {
      // Codes of the others are no whole numbers from zero on, or too many.
      if (std::floor(g.offset) != g.offset || g.max - g.min > g.delta * 70000.0F) continue;
      for (const std::size_t n : sizes()) {
        const std::vector<float> x = hard_values(g, n, static_cast<std::uint32_t>(n));
        std::vector<float> expected(n);
        std::vector<std::int32_t> codes(n, -1);
        std::vector<float> y(n);
        reference().fake_quant(x.data(), expected.data(), n, g);
        table->encode(x.data(), codes.data(), n, g, kCodeOfNan);
        for (std::size_t i = 0; i < n; ++i) {
          EXPECT_EQ(codes[i] == kCodeOfNan, std::isnan(x[i])) << table->name;
          y[i] = std::isnan(x[i]) ? kNan : g.delta * (static_cast<float>(codes[i]) + g.offset);
        }
        expect_same_bits(expected, y, x, table->name);
      }
    }
  }
}

TEST(FakeQuantRow, EqualsOneCallPerElementOnEveryIsa) {
  for (const KernelTable* table : tables()) {
    for (const std::size_t n : sizes()) {
      std::vector<float> min(n), max(n), delta(n), offset(n), expected(n), y(n);
      const std::vector<float> x = hard_values(grids()[0], n, static_cast<std::uint32_t>(n));
      for (std::size_t i = 0; i < n; ++i) {
        const AffineGrid& g = grids()[i % grids().size()];
        min[i] = g.min;
        max[i] = g.max;
        delta[i] = g.delta;
        offset[i] = g.offset;
        reference().fake_quant(&x[i], &expected[i], 1, g);
      }
      table->fake_quant_row(x.data(), y.data(), n,
                            {min.data(), max.data(), delta.data(), offset.data()});
      expect_same_bits(expected, y, x, table->name);
    }
  }
}

TEST(FakeQuantRows, EqualsOneCallPerRowOnEveryIsa) {
  constexpr std::size_t kStride = 40;
  std::vector<float> min, max, delta, offset;
  for (std::size_t i = 0; i < kStride; ++i) {
    const AffineGrid& g = grids()[i % grids().size()];
    min.push_back(g.min);
    max.push_back(g.max);
    delta.push_back(g.delta);
    offset.push_back(g.offset);
  }
  const AffineRow row = {min.data(), max.data(), delta.data(), offset.data()};
  for (const KernelTable* table : tables()) {
    for (const std::size_t num_rows : {0, 1, 3, 4, 9}) {
      for (const std::size_t n : {std::size_t{1}, std::size_t{16}, std::size_t{37}, kStride}) {
        const std::vector<float> x = hard_values(grids()[0], num_rows * kStride, 9);
        std::vector<float> expected = x, y = x;  // in place
        for (std::size_t r = 0; r < num_rows; ++r) {
          float* first = expected.data() + r * kStride;
          reference().fake_quant_row(first, first, n, row);
        }
        table->fake_quant_rows(y.data(), y.data(), num_rows, kStride, n, row);
        expect_same_bits(expected, y, x, table->name);
      }
    }
  }
}

TEST(FakeQuantRuns, EqualsOneCallPerRunOnEveryIsa) {
  for (const KernelTable* table : tables()) {
    for (const std::size_t run_length : {1, 7, 16, 33, 128}) {
      const std::size_t num_runs = grids().size();
      std::vector<float> min, max, delta, offset;
      const std::vector<float> x = hard_values(grids()[0], num_runs * run_length, 8);
      std::vector<float> expected(x.size()), y(x.size());
      for (std::size_t r = 0; r < num_runs; ++r) {
        const AffineGrid& g = grids()[r];
        min.push_back(g.min);
        max.push_back(g.max);
        delta.push_back(g.delta);
        offset.push_back(g.offset);
        reference().fake_quant(&x[r * run_length], &expected[r * run_length], run_length, g);
      }
      table->fake_quant_runs(x.data(), y.data(), num_runs, run_length,
                             {min.data(), max.data(), delta.data(), offset.data()});
      expect_same_bits(expected, y, x, table->name);
    }
  }
}

std::vector<float> every_kind_of_float(std::size_t n) {
  std::mt19937 random(3);
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    // Every third value lies in the range of halves, where rounding has its subnormal and tie
    // cases.
    const std::uint32_t bits = static_cast<std::uint32_t>(random());
    x[i] = i % 3 == 0 ? std::bit_cast<float>(bits)
                      : std::bit_cast<float>((bits & 0x80000FFFU) |
                                             ((0x33000000U + (bits >> 1) % 0x15000000U) & ~0xFFFU));
  }
  return x;
}

TEST(Cast, EveryIsaMatchesTheReferenceBitForBit) {
  const std::vector<float> x = every_kind_of_float(200003);
  for (const KernelTable* table : tables()) {
    for (const CastFn KernelTable::* cast :
         {&KernelTable::cast_float16, &KernelTable::cast_bfloat16}) {
      std::vector<float> expected(x.size());
      std::vector<float> y(x.size());
      (reference().*cast)(x.data(), expected.data(), x.size());
      (table->*cast)(x.data(), y.data(), x.size());
      expect_same_bits(expected, y, x, table->name);
    }
  }
}

TEST(Cast, HalvesRoundTiesToEvenAndOverflowToInfinity) {
  const std::vector<float> x = {1.0F + 0x1p-11F, 1.0F + 3 * 0x1p-11F, 65519.0F, 65520.0F, -65520.0F,
                                0x1p-25F,        1.5F * 0x1p-24F};
  const std::vector<float> expected = {1.0F, 1.0F + 0x1p-9F, 65504.0F, kInf, -kInf, 0.0F, 0x1p-23F};
  for (const KernelTable* table : tables()) {
    std::vector<float> y(x.size());
    table->cast_float16(x.data(), y.data(), x.size());
    EXPECT_EQ(y, expected) << table->name;
  }
}

TEST(Widen, EveryBitPatternMatchesTheReferenceOnEveryIsa) {
  std::vector<std::uint16_t> x(65536);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(i);
  for (const KernelTable* table : tables()) {
    for (const WidenFn KernelTable::* widen :
         {&KernelTable::widen_float16, &KernelTable::widen_bfloat16}) {
      std::vector<float> expected(x.size());
      std::vector<float> y(x.size());
      (reference().*widen)(x.data(), expected.data(), x.size());
      (table->*widen)(x.data(), y.data(), x.size());
      expect_same_bits(expected, y, expected, table->name);
    }
  }
}

TEST(Narrow, EveryIsaMatchesTheReferenceBitForBit) {
  for (const std::size_t n :
       {std::size_t{0}, std::size_t{1}, std::size_t{17}, std::size_t{200003}}) {
    const std::vector<float> x = every_kind_of_float(n);
    for (const KernelTable* table : tables()) {
      for (const NarrowFn KernelTable::* narrow :
           {&KernelTable::narrow_float16, &KernelTable::narrow_bfloat16}) {
        std::vector<std::uint16_t> expected(n);
        std::vector<std::uint16_t> y(n);
        (reference().*narrow)(x.data(), expected.data(), n);
        (table->*narrow)(x.data(), y.data(), n);
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_EQ(y[i], expected[i]) << table->name << " input " << x[i];
      }
    }
  }
}

TEST(Float8, EveryIsaMatchesTheReferenceBitForBit) {
  const std::vector<float> x = every_kind_of_float(100003);
  const std::vector<float> scales(x.size(), 0.0037F);
  for (const KernelTable* table : tables()) {
    for (const Format::Kind kind : {Format::Kind::kFloat8E4M3FN, Format::Kind::kFloat8E5M2}) {
      const Float8Layout layout = float8_layout(kind);
      std::vector<float> expected(x.size());
      std::vector<float> y(x.size());
      std::vector<float> row(x.size());
      reference().float8(x.data(), expected.data(), x.size(), 0.0037F, layout);
      table->float8(x.data(), y.data(), x.size(), 0.0037F, layout);
      table->float8_row(x.data(), row.data(), x.size(), scales.data(), layout);
      expect_same_bits(expected, y, x, table->name);
      expect_same_bits(expected, row, x, table->name);
    }
  }
}

TEST(Float8, KnownValuesOfE4M3) {
  const Float8Layout layout = float8_layout(Format::Kind::kFloat8E4M3FN);
  const std::vector<float> x = {448.0F,  1000.0F,  -kInf,          1.0625F, 1.1875F,
                                0x1p-9F, 0x1p-10F, 1.5F * 0x1p-9F, 17.0F,   19.0F};
  const std::vector<float> expected = {448.0F,  448.0F, -448.0F, 1.0F,  1.25F,
                                       0x1p-9F, 0.0F,   0x1p-8F, 16.0F, 20.0F};
  for (const KernelTable* table : tables()) {
    std::vector<float> y(x.size());
    table->float8(x.data(), y.data(), x.size(), 1.0F, layout);
    EXPECT_EQ(y, expected) << table->name;
  }
}

TEST(MinMax, SkipsAndCountsWhatIsNotFiniteOnEveryIsa) {
  for (const KernelTable* table : tables()) {
    for (const std::size_t n : sizes()) {
      for (std::size_t start = 0; start < 4; ++start) {
        const std::vector<float> x =
            hard_values(grids()[1], n + start, static_cast<std::uint32_t>(n));
        float expected_low = kInf, expected_high = -kInf, low = kInf, high = -kInf;
        const std::size_t expected =
            reference().min_max(x.data() + start, n, &expected_low, &expected_high);
        EXPECT_EQ(table->min_max(x.data() + start, n, &low, &high), expected)
            << table->name << " size " << n;
        expect_same_bits({expected_low, expected_high}, {low, high}, {0.0F, 0.0F}, table->name);
      }
    }
  }
}

TEST(MinMax, MergesIntoTheValuesGiven) {
  const std::vector<float> x(100, 1.0F);
  for (const KernelTable* table : tables()) {
    float low = -2.0F, high = 5.0F;
    EXPECT_EQ(table->min_max(x.data(), x.size(), &low, &high), 0U);
    EXPECT_EQ(low, -2.0F);
    EXPECT_EQ(high, 5.0F);
    low = 3.0F;
    high = 0.5F;
    table->min_max(x.data(), x.size(), &low, &high);
    EXPECT_EQ(low, 1.0F);
    EXPECT_EQ(high, 1.0F);
  }
}

TEST(MinMaxRow, KeepsOneRangePerElementOnEveryIsa) {
  for (const KernelTable* table : tables()) {
    for (const std::size_t n : sizes()) {
      std::vector<float> expected_low(n, kInf), expected_high(n, -kInf), low(n, kInf),
          high(n, -kInf);
      for (std::uint32_t pass = 0; pass < 3; ++pass) {
        const std::vector<float> x = hard_values(grids()[1], n, pass);
        EXPECT_EQ(reference().min_max_row(x.data(), n, expected_low.data(), expected_high.data()),
                  table->min_max_row(x.data(), n, low.data(), high.data()));
      }
      expect_same_bits(expected_low, low, low, table->name);
      expect_same_bits(expected_high, high, high, table->name);
    }
  }
}

TEST(Arithmetic, IsTheSameOnEveryIsaAndKeepsNanAndMinusZeroOfTheFirstOperand) {
  const auto compute = [](const KernelTable& table, Arithmetic op, Operand a, Operand b,
                          std::size_t n) {
    std::vector<float> y(n);
    table.arithmetic(op, a, b, y.data(), n);
    return y;
  };
  const float bound = 0.0F;
  const std::vector<float> special = {kNan, -0.0F};
  for (const Arithmetic op : {Arithmetic::kMaximum, Arithmetic::kMinimum}) {
    const std::vector<float> y =
        compute(reference(), op, {special.data(), false}, {&bound, true}, 2);
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_TRUE(std::signbit(y[1]));
  }
  for (const KernelTable* table : tables()) {
    for (const std::size_t n : sizes()) {
      const std::vector<float> a = hard_values(grids()[1], n + 1, 1);
      const std::vector<float> b = hard_values(grids()[2], n + 1, 2);
      for (const Arithmetic op :
           {Arithmetic::kAdd, Arithmetic::kSubtract, Arithmetic::kMultiply, Arithmetic::kDivide,
            Arithmetic::kMaximum, Arithmetic::kMinimum}) {
        for (const auto& [first, second] :
             {std::pair{false, false}, {true, false}, {false, true}}) {
          const Operand x = {a.data(), first};
          const Operand z = {b.data(), second};
          expect_same_bits(compute(reference(), op, x, z, n), compute(*table, op, x, z, n), a,
                           table->name);
        }
      }
    }
  }
}

}  // namespace
}  // namespace bitsweep::kernels
