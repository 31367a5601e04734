#include "quant/program_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

namespace bitsweep {
namespace {

using kernels::Arithmetic;
using Step = ElementwiseProgram::Step;

FakeQuantPlan plan(double min, double max, int bitwidth = 8, bool symmetric = false) {
  return FakeQuantPlan(
      Encoding{.format = Format::integer(bitwidth),
               .granularity = {},
               .grid = {},
               .cells = {make_encoding(min, max, {.bitwidth = bitwidth, .symmetric = symmetric})}});
}

FakeQuantPlan per_channel_plan() {
  const AffineEncoding cell = make_encoding(0.0, 6.0, {.bitwidth = 8});
  return FakeQuantPlan(Encoding{.format = Format::integer(8),
                                .granularity = {.channel_axis = 0},
                                .grid = {2, 1},
                                .cells = {cell, cell}});
}

// q0 = Q(x); q0 * Q(clip(q0 + 3, 0, 6)).
const ElementwiseProgram& gate() {
  static const ElementwiseProgram program({{.quantizes = true, .a = 0},
                                           {.op = Arithmetic::kAdd, .a = 1, .b = -1},
                                           {.op = Arithmetic::kMaximum, .a = 2, .b = -2},
                                           {.op = Arithmetic::kMinimum, .a = 3, .b = -3},
                                           {.quantizes = true, .a = 4},
                                           {.op = Arithmetic::kMultiply, .a = 1, .b = 5}},
                                          {3.0F, 0.0F, 6.0F});
  return program;
}

std::vector<const FakeQuantPlan*> plans_of_gate(const FakeQuantPlan& first,
                                                const FakeQuantPlan& second) {
  return {&first, nullptr, nullptr, nullptr, &second, nullptr};
}

constexpr std::int64_t kMany = 1 << 15;

TEST(ProgramTable, HasTheBitsOfTheProgram) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0.0F, 3.0F);
  std::vector<float> x(kMany + 3);  // a rest behind the last four
  for (float& v : x) v = normal(random);
  const float infinity = std::numeric_limits<float>::infinity();
  x[7] = std::numeric_limits<float>::quiet_NaN();
  x[9] = infinity;
  x[10] = -infinity;
  x[11] = -0.0F;
  const auto n = static_cast<std::int64_t>(x.size());
  const FakeQuantPlan second = plan(0.0, 6.0);
  for (const FakeQuantPlan& first : {plan(-4.0, 4.1), plan(-4.0, 4.0, 8, true), plan(0.0, 5.0),
                                     plan(-3.0, -1.0), plan(-2.0, 7.0, 12), plan(-1.0, 1.0, 2)}) {
    const std::vector<const FakeQuantPlan*> plans = plans_of_gate(first, second);
    std::vector<float> expected(x.size());
    gate().run(x.data(), expected.data(), {n}, 0, n, plans);
    const auto table = ProgramTable::make(gate(), plans, n);
    ASSERT_TRUE(table.has_value());
    std::vector<float> y(x);
    table->run(y.data(), y.data(), 0, 701);
    table->run(y.data(), y.data(), 701, n);
    EXPECT_TRUE(std::isnan(y[7]));
    EXPECT_TRUE(std::isnan(expected[7]));
    y[7] = expected[7] = 0.0F;
    for (std::size_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(y[i], expected[i]) << x[i];
      ASSERT_EQ(std::signbit(y[i]), std::signbit(expected[i])) << x[i];
    }
  }
}

TEST(ProgramTable, ThereIsNoneWhereTheResultIsNoFunctionOfFewCodes) {
  const FakeQuantPlan first = plan(-4.0, 4.1);
  const FakeQuantPlan second = plan(0.0, 6.0);
  const auto has_table = [](const ElementwiseProgram& program,
                            const std::vector<const FakeQuantPlan*>& plans, std::int64_t n) {
    return ProgramTable::make(program, plans, n).has_value();
  };
  EXPECT_TRUE(has_table(gate(), plans_of_gate(first, second), kMany));
  EXPECT_FALSE(has_table(gate(), plans_of_gate(first, second), 256)) << "too small to pay";
  EXPECT_FALSE(has_table(gate(), plans_of_gate(plan(-4.0, 4.0, 16), second), kMany));
  EXPECT_FALSE(has_table(gate(), plans_of_gate(first, per_channel_plan()), kMany));
  std::vector<const FakeQuantPlan*> off = plans_of_gate(first, second);
  off[0] = nullptr;
  EXPECT_FALSE(has_table(gate(), off, kMany));

  std::vector<Step> steps = gate().steps();
  steps.back().a = 0;  // the product takes the input itself
  EXPECT_FALSE(has_table(ElementwiseProgram(steps, gate().constants()),
                         plans_of_gate(first, second), kMany));
}

}  // namespace
}  // namespace bitsweep
