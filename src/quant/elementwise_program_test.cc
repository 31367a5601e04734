#include "quant/elementwise_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bitsweep/error.h"

namespace bitsweep {
namespace {

using kernels::Arithmetic;
using Step = ElementwiseProgram::Step;

FakeQuantPlan plan(double min, double max) {
  return FakeQuantPlan(Encoding{.format = Format::integer(8),
                                .granularity = {},
                                .grid = {},
                                .cells = {make_encoding(min, max, {.bitwidth = 8})}});
}

// q0 = Q(x); q0 * Q(clip(Q(q0 + 3), 0, 6)).
const std::vector<Step> kGate = {
    {.quantizes = true, .a = 0, .site = 4},        {.op = Arithmetic::kAdd, .a = 1, .b = -1},
    {.quantizes = true, .a = 2, .site = 5},        {.op = Arithmetic::kMaximum, .a = 3, .b = -2},
    {.op = Arithmetic::kMinimum, .a = 4, .b = -3}, {.quantizes = true, .a = 5, .site = 6},
    {.op = Arithmetic::kMultiply, .a = 1, .b = 6}};

TEST(ElementwiseProgram, GivesTheBitsOfItsStepsOneAfterTheOther) {
  const auto n = std::int64_t{2500};  // several chunks and a rest
  std::vector<float> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) / 300.0F - 4.0F;
  const FakeQuantPlan first = plan(-4.0, 4.1);
  const FakeQuantPlan sum = plan(-1.0, 7.0);
  const FakeQuantPlan gate = plan(0.0, 6.0);
  const std::vector<const FakeQuantPlan*> plans = {&first,  nullptr, &sum,   nullptr,
                                                   nullptr, &gate,   nullptr};

  std::vector<float> q(x);
  first.apply(x.data(), q.data(), {n});
  std::vector<float> t(q);
  for (float& v : t) v += 3.0F;
  sum.apply(t.data(), t.data(), {n});
  for (float& v : t) v = std::fmin(std::fmax(v, 0.0F), 6.0F);
  gate.apply(t.data(), t.data(), {n});
  for (std::size_t i = 0; i < t.size(); ++i) t[i] *= q[i];

  const ElementwiseProgram program(kGate, {3.0F, 0.0F, 6.0F});
  std::vector<float> y(x.size(), -1.0F);
  program.run(x.data(), y.data(), {n}, 0, 700, plans);
  program.run(x.data(), y.data(), {n}, 700, n, plans);
  EXPECT_EQ(y, t);
  program.run(x.data(), x.data(), {n}, 0, n, plans);  // in place
  EXPECT_EQ(x, t);
}

TEST(ElementwiseProgram, AQuantizerWithoutAPlanHandsItsInputOn) {
  const ElementwiseProgram program({{.quantizes = true, .a = 0}}, {});
  const std::vector<float> x = {0.3F, -0.7F};
  std::vector<float> y(2);
  const std::vector<const FakeQuantPlan*> off = {nullptr};
  program.run(x.data(), y.data(), {2}, 0, 2, off);
  EXPECT_EQ(y, x);
}

TEST(ElementwiseProgram, ComesBackFromItsNumbers) {
  const ElementwiseProgram program(kGate, {3.0F, 0.0F, 6.0F});
  const ElementwiseProgram back = ElementwiseProgram::decode(program.encode(), program.constants());
  EXPECT_EQ(back.encode(), program.encode());
  EXPECT_EQ(back.steps()[2].site, 5);
  EXPECT_TRUE(back.steps()[2].quantizes);
  EXPECT_EQ(back.steps()[3].op, Arithmetic::kMaximum);
}

TEST(ElementwiseProgram, RefusesWhatNeedsTooManyValuesAtOnce) {
  std::vector<Step> steps;
  for (int i = 0; i < 5; ++i) steps.push_back({.quantizes = true, .a = 0, .site = i});
  for (int i = 1; i < 5; ++i)
    steps.push_back({.op = Arithmetic::kAdd, .a = i == 1 ? 1 : i + 4, .b = i + 1});
  EXPECT_FALSE(ElementwiseProgram::fits(steps));
  EXPECT_THROW(ElementwiseProgram(steps, {}), Error);
  EXPECT_THROW(ElementwiseProgram({}, {}), Error);
}

}  // namespace
}  // namespace bitsweep
