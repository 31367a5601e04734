#include "simulate/observe/divisor_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/testing/model_builder.h"
#include "simulate/testing/nets.h"

namespace bitsweep::simulate {
namespace {

using graph::testing::ModelBuilder;
using ::testing::HasSubstr;
using ::testing::Not;

Model norm() {
  ModelBuilder m;
  m.input("x", {1, 4}).node("v = Mul(x, x)").node("s = Sqrt(v)");
  m.node("y = Div(x, s) {name: \"norm\"}").output("y");
  return m.model();
}

std::vector<Feed> feeds(float smallest) {
  Tensor x = Tensor::allocate(DataType::kFloat, {1, 4});
  const float data[] = {10.0F, smallest, -5.0F, 7.0F};
  std::copy(std::begin(data), std::end(data), x.mutable_floats().begin());
  return {{{"x", x}}};
}

std::string reason(const Simulation& simulation, const std::string& tensor) {
  for (const TensorReport& row : simulation.describe()) {
    if (row.tensor == tensor) return row.reason;
  }
  return "no such tensor";
}

TEST(DivisorWatch, NamesADivisorThatItsGridTurnsToZero) {
  Simulation sim(norm());
  testing::calibrate(sim, feeds(1e-3F));
  EXPECT_THAT(reason(sim, "s"), HasSubstr("values down to 0.001 become 0 on its grid"));
  EXPECT_THAT(reason(sim, "s"), HasSubstr("\"norm\" divides by it"));
  EXPECT_THAT(reason(sim, "x"), Not(HasSubstr("divides")));
  // What holds no more is not said any more.
  testing::calibrate(sim, feeds(1.0F));
  EXPECT_THAT(reason(sim, "s"), Not(HasSubstr("divides")));
}

TEST(DivisorWatch, LeavesAloneWhatTheFloatModelDividesByToo) {
  Simulation sim(norm());
  testing::calibrate(sim, feeds(0.0F));
  EXPECT_THAT(reason(sim, "s"), Not(HasSubstr("divides")));
}

}  // namespace
}  // namespace bitsweep::simulate
