#include <gtest/gtest.h>

#include <cmath>

#include "bitsweep/error.h"
#include "bitsweep/simulation.h"
#include "graph/testing/model_builder.h"
#include "simulate/testing/nets.h"

namespace bitsweep {
namespace {

using graph::testing::ModelBuilder;
using simulate::testing::calibrate;
using simulate::testing::samples;

TEST(Simulation, ExceptionRulesHoldForWhatTheUserSet) {
  ModelBuilder m;
  m.opset(17).input("x", {2, 8}).output("y").random("w", {8}).node("y = LayerNormalization(x, w)");
  Simulation sim(m.model());
  sim.quantizer("w")->set_format(Format::integer(4));
  sim.quantizer("x")->set_format(Format::integer(4));
  sim.apply_exception_rules();
  EXPECT_EQ(sim.quantizer("w")->bitwidth(), 8);
  EXPECT_EQ(sim.quantizer("x")->bitwidth(), 4);
}

TEST(Simulation, ExceptionRulesThatChangeNothingKeepTheEncodings) {
  ModelBuilder m;
  m.opset(17).input("x", {2, 8}).output("y").random("w", {8}).node("y = LayerNormalization(x, w)");
  Simulation sim(m.model());
  calibrate(sim, samples(sim.model(), 2));
  sim.apply_exception_rules();
  for (const std::string& name : sim.tensor_names()) {
    EXPECT_EQ(sim.quantizer(name)->initialized(), sim.quantizer(name)->enabled()) << name;
  }
}

TEST(Simulation, EffectiveTensorLooksThroughDataMovement) {
  ModelBuilder m;
  m.input("x", {2, 4}).output("z").node("t = Transpose(x)").node("z = Sigmoid(t)");
  Simulation sim(m.model());
  EXPECT_EQ(sim.effective_tensor("t"), "x");
  sim.quantizer("x")->set_enabled(false);
  EXPECT_EQ(sim.effective_tensor("t"), "");
  EXPECT_THROW(sim.effective_tensor("no such tensor"), Error);
}

TEST(Simulation, OperatorsNameTheNodesTheyStandFor) {
  ModelBuilder m;
  m.input("x", {2, 4}).output("y").random("w", {4, 3}).random("b", {3});
  m.node("h = MatMul(x, w) {name: \"multiply\"}").node("y = Add(h, b) {name: \"add\"}");
  const Simulation sim(m.model());
  const std::vector<OperatorInfo> operators = sim.operators();
  ASSERT_EQ(operators.size(), 1U);
  EXPECT_EQ(operators[0].name, "multiply+add");
  EXPECT_EQ(operators[0].type, "Gemm");
  EXPECT_EQ(operators[0].nodes, (std::vector<std::string>{"multiply", "add"}));
}

// The 32-bit sum starts at bias plus the output's zero point: each channel must fit, whatever the
// sign of its bias.
TEST(Calibration, OneWeightScaleHoldsTheBiasOfEveryChannel) {
  ModelBuilder m;
  m.input("x", {2, 2}).output("y");
  m.floats("w", {2, 2}, {1e-4F, 2e-5F, 3e-5F, 1e-4F}).floats("b", {2}, {1.0F, -40.0F});
  m.node("y = Gemm(x, w, b)");
  Simulation sim(m.model(), {.parameter_format = Format::integer(16),
                             .activation_format = Format::integer(16),
                             .rules = "per_tensor"});
  calibrate(sim, samples(sim.model(), 4));
  const auto cell = [&](const char* name) {
    return sim.quantizer(name)->encoding()->cells.front();
  };
  const double limit = 2147483648.0 - 32768.0;
  const double step = cell("w").delta * cell("x").delta;
  for (const double b : {1.0, -40.0}) {
    EXPECT_LE(std::abs(b + cell("y").offset * cell("y").delta) / step, limit * (1 + 1e-6))
        << "bias " << b;
  }
}

}  // namespace
}  // namespace bitsweep
