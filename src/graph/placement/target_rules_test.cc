// What the rules of targets ask for that have no reference to be compared with: ONNX Runtime's CPU
// kernels and TensorRT.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/placement/testing/placed.h"

namespace bitsweep::graph {
namespace {

using ::testing::ElementsAre;
using testing::ModelBuilder;
using testing::Placed;
using ::testing::UnorderedElementsAre;

// A convolution, a norm and a product, as a small vision transformer has them.
ModelBuilder network() {
  ModelBuilder m;
  m.input("x", {1, 4, 8, 8}).output("y");
  m.random("w", {4, 4, 3, 3}).random("b", {4}).random("v", {8, 8});
  m.random("gamma", {8}).random("beta", {8});
  m.node("c = Conv(x, w, b) {pads: [1, 1, 1, 1]}").node("r = Relu(c)");
  m.node("n = LayerNormalization(r, gamma, beta)").node("p = MatMul(n, v)");
  m.node("s = Add(p, r)").node("y = Softmax(s)");
  return m;
}

std::vector<std::string> enabled(const Placed& placed) {
  std::vector<std::string> names;
  for (const std::string& name : placed.names()) {
    if (placed.enabled(name)) names.push_back(name);
  }
  return names;
}

TEST(TensorRtRules, QuantizeWhatItsIntegerLayersRead) {
  const Placed placed(network(), {.rules = "tensorrt"});
  EXPECT_THAT(enabled(placed), UnorderedElementsAre("w", "v", "x", "r", "n", "p"));
  EXPECT_TRUE(placed.site("w").per_channel);
  EXPECT_TRUE(placed.site("v").per_channel);
}

TEST(TensorRtRules, LeaveNoZeroPoint) {
  const Placed placed(network(), {.rules = "tensorrt"});
  for (const Site& site : placed.placement().sites) {
    if (!site.enabled) continue;
    EXPECT_TRUE(site.symmetric) << placed.name(site.tensor);
    EXPECT_FALSE(site.unsigned_symmetric) << placed.name(site.tensor);
  }
}

TEST(OrtCpuRules, QuantizeBothSidesOfTheOperatorsWithIntegerKernels) {
  const Placed placed(network(), {.rules = "ort_cpu"});
  // The norm runs in float: its parameters and what it alone reads stay as they are.
  EXPECT_THAT(enabled(placed), UnorderedElementsAre("w", "v", "x", "r", "n", "p", "s", "y"));
  EXPECT_FALSE(placed.site("x").symmetric);
  EXPECT_TRUE(placed.site("w").symmetric);
  EXPECT_TRUE(placed.site("w").per_channel);
  ASSERT_TRUE(placed.site("y").fixed_range.has_value());
  EXPECT_EQ(placed.site("y").fixed_range->first, 0.0);
  EXPECT_EQ(placed.site("y").fixed_range->second, 1.0);
}

TEST(OrtCpuRules, RunAnActivationWithTheConvolutionInFrontOfIt) {
  ModelBuilder m;
  m.input("x", {1, 2, 4, 4}).output("y").random("w", {2, 2, 1, 1});
  m.node("c = Conv(x, w)").node("y = Relu(c)");
  EXPECT_THAT(enabled(Placed(m, {.rules = "ort_cpu"})), ElementsAre("w", "x", "y"));
}

}  // namespace
}  // namespace bitsweep::graph
