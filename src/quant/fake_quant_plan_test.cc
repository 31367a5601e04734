#include "quant/fake_quant_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "base/half.h"
#include "bitsweep/error.h"
#include "quant/formats/float8.h"

namespace bitsweep {
namespace {

std::vector<float> random_values(std::int64_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, 1.0F);
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& v : values) v = normal(random);
  return values;
}

Encoding make(const Granularity& granularity, const Shape& shape, int bitwidth = 4) {
  Encoding e{.format = Format::integer(bitwidth),
             .granularity = granularity,
             .grid = grid_shape(granularity, shape),
             .cells = {}};
  for (std::int64_t i = 0; i < num_elements(e.grid); ++i) {
    e.cells.push_back(make_encoding(-0.5 - 0.1 * static_cast<double>(i % 17),
                                    1.0 + 0.2 * static_cast<double>(i % 5),
                                    {.bitwidth = bitwidth}));
  }
  return e;
}

// The cell of every element, from its coordinates: slow and obvious.
std::vector<std::size_t> cells_by_coordinates(const Granularity& g, const Shape& shape) {
  const Shape grid = grid_shape(g, shape);
  std::vector<std::size_t> cells(static_cast<std::size_t>(num_elements(shape)));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), cell = 0, stride = 1;
    for (int axis = static_cast<int>(shape.size()) - 1; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      std::int64_t index = rest % shape[a];
      rest /= shape[a];
      if (axis == g.block_axis && g.blockwise()) index /= g.block_size;
      if (!grid.empty() && grid[a] > 1) cell += index * stride;
      if (!grid.empty()) stride *= grid[a];
    }
    cells[i] = static_cast<std::size_t>(cell);
  }
  return cells;
}

struct Case {
  Granularity granularity;
  Shape shape;
};

std::vector<Case> cases() {
  return {
      {{}, {5, 7}},
      {{}, {}},
      {{.channel_axis = 0}, {6, 5, 3, 3}},
      {{.channel_axis = 0}, {3, 40, 3, 3}},
      {{.channel_axis = 1}, {4, 6, 3, 3}},
      {{.channel_axis = 1}, {5, 70}},
      {{.channel_axis = 1}, {2, 7, 1, 33}},
      {{.channel_axis = 3}, {2, 3, 4, 5}},
      {{.channel_axis = 0}, {9}},
      {{.channel_axis = 1}, {600, 3, 2}},
      {{.channel_axis = 1}, {7, 1500, 3}},  // rows of more than one stretch
      {{.channel_axis = 1}, {6, 4100}},
      {{.channel_axis = 0, .block_axis = 1, .block_size = 4}, {6, 16}},
      {{.channel_axis = 0, .block_axis = 1, .block_size = 64}, {3, 128}},
      {{.channel_axis = 1, .block_axis = 0, .block_size = 4}, {16, 6}},
      {{.channel_axis = 1, .block_axis = 0, .block_size = 2}, {8, 3, 3, 3}},
      {{.channel_axis = 0, .block_axis = 1, .block_size = 1}, {4, 6, 3, 3}},
      {{.channel_axis = 2, .block_axis = 1, .block_size = 3}, {2, 6, 5}},
      {{.channel_axis = 0, .block_axis = 2, .block_size = 2}, {3, 4, 6}},
  };
}

TEST(FakeQuantPlan, EveryGranularityEqualsOneElementAtATime) {
  for (const Case& c : cases()) {
    const Encoding encoding = make(c.granularity, c.shape);
    const std::vector<std::size_t> cells = cells_by_coordinates(c.granularity, c.shape);
    const std::vector<float> x = random_values(num_elements(c.shape), 1);
    std::vector<float> y(x.size());
    FakeQuantPlan(encoding).apply(x.data(), y.data(), c.shape);
    for (std::size_t i = 0; i < x.size(); ++i) {
      Encoding one{.format = encoding.format,
                   .granularity = {},
                   .grid = {},
                   .cells = {encoding.cells[cells[i]]}};
      float expected = 0.0F;
      FakeQuantPlan(one).apply(&x[i], &expected, {});
      ASSERT_EQ(y[i], expected) << shape_text(c.shape) << " element " << i;
    }
  }
}

TEST(FakeQuantPlan, PerChannelEqualsPerTensorSliceBySlice) {
  const Shape shape = {5, 6, 7};
  const Encoding encoding = make({.channel_axis = 0}, shape);
  const std::vector<float> x = random_values(num_elements(shape), 2);
  std::vector<float> y(x.size());
  std::vector<float> slice(42);
  FakeQuantPlan(encoding).apply(x.data(), y.data(), shape);
  for (std::size_t channel = 0; channel < 5; ++channel) {
    const Encoding one{.format = encoding.format,
                       .granularity = {},
                       .grid = {},
                       .cells = {encoding.cells[channel]}};
    FakeQuantPlan(one).apply(x.data() + channel * 42, slice.data(), {6, 7});
    EXPECT_TRUE(std::equal(slice.begin(), slice.end(),
                           y.begin() + static_cast<std::ptrdiff_t>(channel * 42)));
  }
}

TEST(FakeQuantPlan, PiecesInAnyCutEqualTheWhole) {
  std::mt19937 random(5);
  for (const Case& c : cases()) {
    const FakeQuantPlan plan(make(c.granularity, c.shape));
    const std::int64_t n = num_elements(c.shape);
    const std::vector<float> x = random_values(n, 3);
    std::vector<float> whole(x.size());
    plan.apply(x.data(), whole.data(), c.shape);
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<float> pieces(x.size());
      for (std::int64_t begin = 0; begin < n;) {
        const std::int64_t end = std::min(n, begin + static_cast<std::int64_t>(random() % 50));
        plan.apply_range(x.data(), pieces.data(), c.shape, begin, end);
        begin = end;
      }
      ASSERT_EQ(pieces, whole) << shape_text(c.shape);
    }
  }
}

TEST(FakeQuantPlan, ManyThreadsMayUseOnePlan) {
  const Shape shape = {64, 96};
  const FakeQuantPlan plan(make({.channel_axis = 1}, shape));
  const std::vector<float> x = random_values(num_elements(shape), 4);
  std::vector<float> whole(x.size());
  std::vector<float> pieces(x.size());
  plan.apply(x.data(), whole.data(), shape);
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t) {
    threads.emplace_back(
        [&, t] { plan.apply_range(x.data(), pieces.data(), shape, t * 1536, (t + 1) * 1536); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pieces, whole);
}

TEST(FakeQuantPlan, IsIdempotentAndMonotoneAndWithinHalfAStep) {
  std::mt19937 random(9);
  for (int trial = 0; trial < 60; ++trial) {
    const AffineOptions options = {.bitwidth = 2 + trial % 12,
                                   .symmetric = trial % 2 == 0,
                                   .strict_symmetric = trial % 4 == 0};
    const double low = -std::uniform_real_distribution<double>(0.0, 3.0)(random);
    const double high = std::uniform_real_distribution<double>(0.001, 3.0)(random);
    const AffineEncoding cell = make_encoding(low, high, options);
    const FakeQuantPlan plan(Encoding{.format = Format::integer(options.bitwidth),
                                      .granularity = {},
                                      .grid = {},
                                      .cells = {cell}});
    std::vector<float> x = random_values(997, static_cast<std::uint32_t>(trial));
    std::sort(x.begin(), x.end());
    const Shape shape = {997};
    std::vector<float> once(x.size());
    std::vector<float> twice(x.size());
    plan.apply(x.data(), once.data(), shape);
    plan.apply(once.data(), twice.data(), shape);
    EXPECT_EQ(once, twice) << "trial " << trial;
    EXPECT_TRUE(std::is_sorted(once.begin(), once.end())) << "trial " << trial;
    // Float32 rounding of the division and of the product comes on top of the half step.
    const double limit = cell.delta * 0.5 + 4e-7 * (high - low);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] >= cell.min && x[i] <= cell.max) {
        ASSERT_LE(std::abs(static_cast<double>(x[i]) - once[i]), limit)
            << "trial " << trial << " value " << x[i];
      }
    }
  }
}

TEST(FakeQuantPlan, ZeroStaysZero) {
  for (const Case& c : cases()) {
    const FakeQuantPlan plan(make(c.granularity, c.shape));
    std::vector<float> zeros(static_cast<std::size_t>(num_elements(c.shape)), 0.0F);
    const std::vector<float> expected = zeros;
    plan.apply(zeros.data(), zeros.data(), c.shape);
    EXPECT_EQ(zeros, expected);
  }
}

TEST(FakeQuantPlan, EmptyTensorsAreFine) {
  const Shape shape = {4, 0, 3};
  FakeQuantPlan(make({.channel_axis = 0}, shape)).apply(nullptr, nullptr, shape);
  FakeQuantPlan(make({}, {})).apply(nullptr, nullptr, {0});
  FakeQuantPlan(Format::parse("float16")).apply(nullptr, nullptr, {0});
}

TEST(FakeQuantPlan, HalfElementsAreWidenedProcessedAndNarrowed) {
  const Shape shape = {3, 1001};
  const FakeQuantPlan plan(make({.channel_axis = 0}, shape));
  const std::vector<float> x = random_values(num_elements(shape), 6);
  std::vector<std::uint16_t> half(x.size());
  float_to_half(x.data(), half.data(), x.size());
  std::vector<float> wide(x.size());
  half_to_float(half.data(), wide.data(), x.size());
  plan.apply(wide.data(), wide.data(), shape);
  std::vector<std::uint16_t> expected(x.size());
  float_to_half(wide.data(), expected.data(), x.size());
  // In two pieces, the second in place.
  std::vector<std::uint16_t> y = half;
  plan.apply_typed(DataType::kFloat16, half.data(), y.data(), shape, 0, 700);
  plan.apply_typed(DataType::kFloat16, y.data(), y.data(), shape, 700, 3003);
  EXPECT_EQ(y, expected);
  EXPECT_THROW(plan.apply_typed(DataType::kInt64, half.data(), y.data(), shape, 0, 1), Error);
}

TEST(FakeQuantPlan, CastFormatsRoundTheElements) {
  const std::vector<float> x = {1.0001F, 1e6F, -3.3F};
  std::vector<float> y(3);
  FakeQuantPlan(Format::parse("float16")).apply(x.data(), y.data(), {3});
  EXPECT_EQ(y, (std::vector<float>{1.0F, std::numeric_limits<float>::infinity(), -3.30078125F}));
  FakeQuantPlan(Format::parse("bfloat16")).apply(x.data(), y.data(), {3});
  EXPECT_EQ(y, (std::vector<float>{1.0F, 999424.0F, -3.296875F}));
  FakeQuantPlan(Format::parse("float32")).apply(x.data(), y.data(), {3});
  EXPECT_EQ(y, x);
}

TEST(FakeQuantPlan, SixteenBitTensorsOfTheSameFormatAreCopied) {
  const std::vector<std::uint16_t> x = {0x3C01, 0x7C00, 0x0001};
  std::vector<std::uint16_t> y(3);
  FakeQuantPlan(Format::parse("float16"))
      .apply_typed(DataType::kFloat16, x.data(), y.data(), {3}, 0, 3);
  EXPECT_EQ(y, x);
}

TEST(FakeQuantPlan, Float8UsesTheScaleOfEachChannel) {
  const Shape shape = {2, 3};
  Encoding e{.format = Format::parse("float8e4m3fn"),
             .granularity = {.channel_axis = 0},
             .grid = {2, 1},
             .cells = {}};
  e.cells = {make_float8_encoding(-448.0, 448.0, e.format.kind),
             make_float8_encoding(-4480.0, 0.0, e.format.kind)};
  const std::vector<float> x = {17.0F, 500.0F, -1.0F, 170.0F, 5000.0F, -10.0F};
  std::vector<float> y(6);
  FakeQuantPlan(e).apply(x.data(), y.data(), shape);
  EXPECT_EQ(y, (std::vector<float>{16.0F, 448.0F, -1.0F, 160.0F, 4480.0F, -10.0F}));
}

TEST(FakeQuantPlan, RefusesAShapeThatDoesNotFit) {
  const FakeQuantPlan plan(make({.channel_axis = 1}, {2, 3}));
  std::vector<float> x(8);
  EXPECT_THROW(plan.apply(x.data(), x.data(), {2, 4}), Error);
  EXPECT_THROW(plan.apply(x.data(), x.data(), {8}), Error);
}

TEST(FakeQuantPlan, RefusesBrokenEncodings) {
  Encoding e = make({.channel_axis = 0}, {3, 2});
  e.cells.pop_back();
  EXPECT_THROW(FakeQuantPlan{e}, Error);
  for (const double delta : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    Encoding broken = make({}, {});
    broken.cells[0].delta = delta;
    EXPECT_THROW(FakeQuantPlan{broken}, Error) << delta;
  }
  EXPECT_THROW(FakeQuantPlan{Format::integer(8)}, Error);
}

TEST(GridShape, NamesTheProblem) {
  EXPECT_THROW(grid_shape({.channel_axis = 2}, Shape{2, 3}), Error);
  EXPECT_THROW(grid_shape({.channel_axis = 0, .block_axis = 1, .block_size = 2}, Shape{2, 3}),
               Error);
  EXPECT_THROW(grid_shape({.channel_axis = 0, .block_axis = 0, .block_size = 2}, Shape{2, 4}),
               Error);
  EXPECT_THROW(grid_shape({.channel_axis = -1, .block_axis = 1, .block_size = 2}, Shape{2, 4}),
               Error);
  EXPECT_EQ(grid_shape({.channel_axis = 1, .block_axis = 0, .block_size = 2}, Shape{4, 3, 5}),
            (Shape{2, 3, 1}));
}

TEST(FakeQuantPlan, RoundsToEvenAndSaturatesAsQuantizeLinearOnRequest) {
  const Encoding grid{.format = Format::integer(8),
                      .granularity = {},
                      .grid = {},
                      .cells = {{.min = -2.0, .max = 253.0, .delta = 1.0, .offset = -2.0}}};
  const std::vector<float> x = {0.5F,  1.5F,   -0.5F,
                                -9.0F, 999.0F, std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> up(x.size());
  std::vector<float> even(x.size());
  const Shape shape{static_cast<std::int64_t>(x.size())};
  FakeQuantPlan(grid).apply(x.data(), up.data(), shape);
  FakeQuantPlan(grid, Rounding::kQuantizeLinear).apply(x.data(), even.data(), shape);
  EXPECT_EQ(std::vector<float>(up.begin(), up.end() - 1),
            (std::vector<float>{1.0F, 2.0F, 0.0F, -2.0F, 253.0F}));
  EXPECT_EQ(even, (std::vector<float>{0.0F, 2.0F, 0.0F, -2.0F, 253.0F, -2.0F}));
}

}  // namespace
}  // namespace bitsweep
