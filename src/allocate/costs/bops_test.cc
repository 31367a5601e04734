#include <gtest/gtest.h>

#include <cmath>

#include "bitsweep/allocation.h"
#include "graph/testing/model_builder.h"

namespace bitsweep {
namespace {

using graph::testing::ModelBuilder;

const Candidate kA16W16{Format::integer(16), Format::integer(16)};
const Candidate kA16W8{Format::integer(16), Format::integer(8)};
const Candidate kA8W8{Format::integer(8), Format::integer(8)};
const Candidate kHalf{Format::parse("float16"), Format::parse("float16")};

// 3 input channels, 4 output channels, 3x3 kernel, 6x6 output, batch of 2.
constexpr double kConvMacs = 4 * 3 * 3 * 3 * 6 * 6;
constexpr double kBatch = 2;
// 2x6 times 6x5, an output of activations times activations.
constexpr double kMatMulMacs = 2 * 6 * 5;

/// x -> Conv(w) -> y; p, q -> MatMul -> z.
Model model() {
  ModelBuilder m;
  m.input("x", {2, 3, 6, 6}).input("p", {2, 6}).input("q", {6, 5}).random("w", {4, 3, 3, 3}, 1);
  m.node("y = Conv(x, w) {pads: [1, 1, 1, 1]}").node("z = MatMul(p, q)");
  m.output("y").output("z");
  return m.model();
}

struct Fixture {
  Simulation sim{model()};
  std::vector<QuantizerGroup> groups = quantizer_groups(sim);

  int group_of(const std::string& tensor) const {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const std::string& t : groups[g].activations) {
        if (t == tensor) return static_cast<int>(g);
      }
    }
    return -1;
  }
  std::vector<Candidate> all(const Candidate& c) const { return {groups.size(), c}; }
};

TEST(BitOperations, EffectiveBitsOfAFloatCarryTheRootOfItsPrice) {
  EXPECT_EQ(effective_bits(Format::integer(8)), 8.0);
  EXPECT_DOUBLE_EQ(effective_bits(Format::parse("float16")), 16.0 * std::sqrt(1.5));
}

TEST(BitOperations, ReferenceCountsConvAndGemmWithoutTheBatch) {
  const Fixture f;
  const BitOperations cost(f.sim, f.groups, BitOpsCounting::kReference);
  ASSERT_EQ(cost.macs().size(), 1U);
  EXPECT_EQ(cost.macs()[0].second, static_cast<std::int64_t>(kConvMacs));
  EXPECT_DOUBLE_EQ(cost.total(f.all(kA16W8), kA16W8), kConvMacs * 16 * 8);
  EXPECT_DOUBLE_EQ(cost.total(f.all(kHalf), kHalf), kConvMacs * 16 * 16 * 1.5);
}

TEST(BitOperations, ReferenceCountsAMatrixProductAsItsWeights) {
  ModelBuilder m;
  m.input("x", {4, 6}).random("w", {6, 5}, 1).node("y = Gemm(x, w)").output("y");
  const Simulation sim(m.model());
  const BitOperations cost(sim, quantizer_groups(sim), BitOpsCounting::kReference);
  EXPECT_EQ(cost.macs()[0].second, 30);
}

TEST(BitOperations, EveryProductCountsActivationsTimesActivationsAndTheBatch) {
  const Fixture f;
  const BitOperations cost(f.sim, f.groups, BitOpsCounting::kEveryProduct);
  EXPECT_DOUBLE_EQ(cost.total(f.all(kA16W8), kA16W8),
                   kConvMacs * kBatch * 16 * 8 + kMatMulMacs * 16 * 16);
  std::vector<Candidate> one = f.all(kA16W8);
  one[static_cast<std::size_t>(f.group_of("p"))] = kA8W8;
  EXPECT_DOUBLE_EQ(cost.total(one, kA16W8), kConvMacs * kBatch * 16 * 8 + kMatMulMacs * 8 * 16);
}

TEST(BitOperations, OperandsInNoGroupAreFloat32) {
  Fixture f;
  f.sim.quantizer("p")->set_enabled(false);
  f.groups = quantizer_groups(f.sim);
  const BitOperations cost(f.sim, f.groups, BitOpsCounting::kEveryProduct);
  EXPECT_DOUBLE_EQ(cost.total(f.all(kA8W8), kA8W8),
                   kConvMacs * kBatch * 64 + kMatMulMacs * 8 * 32 * std::sqrt(1.5));
}

/// The bit operations of a model of one operator.
double total_of(const Model& model, const Candidate& candidate,
                BitOpsCounting counting = BitOpsCounting::kEveryProduct) {
  const Simulation sim(model);
  const std::vector<QuantizerGroup> groups = quantizer_groups(sim);
  return BitOperations(sim, groups, counting)
      .total(std::vector<Candidate>(groups.size(), candidate), candidate);
}

TEST(BitOperations, EveryPixelOfAConvTransposeMeetsAllWeightsOfItsChannel) {
  // 6 channels of 5x5 pixels, each of which adds to 3x3 places of 4 channels: stride and padding
  // move those places and change nothing else.
  constexpr double kMacs = 6 * 5 * 5 * 4 * 3 * 3;
  for (const char* node : {"y = ConvTranspose(x, w)", "y = ConvTranspose(x, w) {strides: [2, 2]}",
                           "y = ConvTranspose(x, w) {strides: [2, 2], pads: [1, 1, 1, 1]}"}) {
    ModelBuilder m;
    m.input("x", {1, 6, 5, 5}).random("w", {6, 4, 3, 3}, 1).node(node).output("y");
    EXPECT_DOUBLE_EQ(total_of(m.model(), kA16W8), kMacs * 16 * 8) << node;
    EXPECT_DOUBLE_EQ(total_of(m.model(), kA8W8), kMacs * 8 * 8) << node;
  }
  // Two groups: a pixel meets the 2 output channels of its own.
  ModelBuilder grouped;
  grouped.input("x", {1, 6, 5, 5}).random("w", {6, 2, 3, 3}, 1);
  grouped.node("y = ConvTranspose(x, w) {group: 2}").output("y");
  EXPECT_DOUBLE_EQ(total_of(grouped.model(), kA16W8), kMacs / 2 * 16 * 8);
}

TEST(BitOperations, RecurrentLayersMultiplyInEveryStepWithBothOfTheirWeights) {
  // 7 steps of a batch of 2; each gate of 5 units reads 3 inputs and 5 states. W and R take the
  // bits of weights, what they meet those of activations.
  constexpr double kGate = 7 * 2 * 5 * (3 + 5);
  const auto layer = [](const std::string& op, std::int64_t gates, std::int64_t ways) {
    ModelBuilder m;
    m.input("x", {7, 2, 3}).random("w", {ways, gates * 5, 3}, 1);
    m.random("r", {ways, gates * 5, 5}, 2);
    m.node("y = " + op + "(x, w, r) {hidden_size: 5" +
           (ways == 2 ? ", direction: \"bidirectional\"}" : "}"));
    return m.output("y").model();
  };
  EXPECT_DOUBLE_EQ(total_of(layer("RNN", 1, 1), kA16W8), kGate * 16 * 8);
  EXPECT_DOUBLE_EQ(total_of(layer("GRU", 3, 1), kA16W8), 3 * kGate * 16 * 8);
  EXPECT_DOUBLE_EQ(total_of(layer("LSTM", 4, 1), kA16W8), 4 * kGate * 16 * 8);
  EXPECT_DOUBLE_EQ(total_of(layer("LSTM", 4, 1), kA8W8), 4 * kGate * 8 * 8);
  EXPECT_DOUBLE_EQ(total_of(layer("LSTM", 4, 2), kA16W8), 2 * 4 * kGate * 16 * 8);
}

TEST(BitOperations, TheReferenceCountsNeitherRecurrentLayersNorConvTranspose) {
  ModelBuilder m;
  m.input("x", {1, 6, 5, 5}).random("w", {6, 4, 3, 3}, 1);
  m.node("y = ConvTranspose(x, w)").output("y");
  EXPECT_EQ(total_of(m.model(), kA16W8, BitOpsCounting::kReference), 0.0);
}

TEST(BitOperations, ReductionIsTheDifferenceOfTheTotals) {
  const Fixture f;
  for (const BitOpsCounting counting :
       {BitOpsCounting::kReference, BitOpsCounting::kEveryProduct}) {
    const BitOperations cost(f.sim, f.groups, counting);
    for (std::size_t g = 0; g < f.groups.size(); ++g) {
      std::vector<Candidate> changed = f.all(kA16W16);
      changed[g] = kA16W8;
      EXPECT_DOUBLE_EQ(cost.reduction(static_cast<int>(g), kA16W16, kA16W8),
                       cost.total(f.all(kA16W16), kA16W16) - cost.total(changed, kA16W16));
    }
  }
}

TEST(BitOperations, WeightsWithoutTheirActivationChangeTheirOwnBitsOnly) {
  Fixture f;
  f.sim.quantizer("x")->set_enabled(false);
  f.groups = quantizer_groups(f.sim);
  const BitOperations cost(f.sim, f.groups, BitOpsCounting::kReference);
  EXPECT_DOUBLE_EQ(cost.total(f.all(kA8W8), kA16W16), kConvMacs * 16 * 8);
}

}  // namespace
}  // namespace bitsweep
