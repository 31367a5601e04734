#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/error.h"
#include "bitsweep/qdq_export.h"
#include "graph/qdq/qdq_codes.h"
#include "graph/qdq/qdq_strip.h"
#include "graph/testing/model_builder.h"
#include "simulate/testing/nets.h"

namespace bitsweep {
namespace {

using graph::testing::ModelBuilder;
using simulate::testing::calibrate;
using simulate::testing::nets;
using simulate::testing::samples;

// Odd widths lie in the next wider type.
constexpr std::array<std::pair<const char*, const char*>, 7> kFormats = {
    {{"int4", "int8"},
     {"int8", "int8"},
     {"int8", "int16"},
     {"int3", "int6"},
     {"float16", "float16"},
     {"int8", "bfloat16"},
     {"float8e4m3fn", "float16"}}};

TEST(FromOnnxQdq, GivesTheVeryOutputsOfTheSimulationThatWasExported) {
  for (const auto& [name, model] : nets()) {
    for (const bool integers : {false, true}) {
      for (const auto& [weights, activations] : kFormats) {
        Simulation sim(model, {.parameter_format = Format::parse(weights),
                               .activation_format = Format::parse(activations)});
        const std::vector<Feed> feeds = samples(model, 2);
        calibrate(sim, feeds);
        Simulation again = from_onnx_qdq(to_onnx_qdq(sim, {.integer_weights = integers}));
        for (const Feed& feed : feeds) {
          const std::vector<Tensor> expected = sim.run(feed);
          const std::vector<Tensor> got = again.run(feed);
          ASSERT_EQ(got.size(), expected.size()) << name;
          for (std::size_t i = 0; i < got.size(); ++i)
            EXPECT_TRUE(got[i].equal_bits(expected[i]))
                << name << " " << weights << " " << activations << " " << integers;
        }
      }
    }
  }
}

bool comes_back_bit_by_bit(Simulation& sim, const std::vector<Feed>& feeds,
                           const QdqOptions& options = {}) {
  Simulation again = from_onnx_qdq(to_onnx_qdq(sim, options));
  return std::all_of(feeds.begin(), feeds.end(), [&](const Feed& feed) {
    return sim.run(feed)[0].equal_bits(again.run(feed)[0]);
  });
}

// From opset 19 on ONNX Runtime adds the values of a window in another order.
TEST(FromOnnxQdq, GoesBackToTheOpsetWhoseKernelsWereSimulated) {
  ModelBuilder m;
  m.opset(11).input("x", {1, 4, 12, 32}).output("y").random("w", {4, 4, 1, 1});
  m.node("h = Conv(x, w)");
  m.node("p = AveragePool(h) {kernel_shape: [3, 2], strides: [3, 2]}");
  m.node("y = ReduceMean(p) {axes: [3]}");
  const Model model = m.model();
  Simulation sim(model, {.activation_format = Format::integer(16)});
  const std::vector<Feed> feeds = samples(model, 4);
  calibrate(sim, feeds);
  EXPECT_EQ(from_onnx_qdq(to_onnx_qdq(sim)).model().opset(), 13);
  EXPECT_TRUE(comes_back_bit_by_bit(sim, feeds));
  sim.quantizer("y")->set_enabled(false);  // last bits of the mean stay
  EXPECT_TRUE(comes_back_bit_by_bit(sim, feeds));
}

TEST(FromOnnxQdq, GivesTheStepsOfBlocksThatAreMultiplesOfAChannelScale) {
  ModelBuilder m;
  m.input("x", {4, 64}).output("y").random("w", {64, 48}).node("y = MatMul(x, w)");
  const Model model = m.model();
  Simulation sim(model, {.activation_format = Format::parse("float32")});
  Quantizer& q = *sim.quantizer("w");
  q.set_format(Format::integer(4));
  q.set_symmetric(true);
  q.set_granularity({.channel_axis = 1, .block_axis = 0, .block_size = 4});
  q.set_lpbq(Lpbq{.scale_bits = 4});
  for (const std::string& name : sim.activation_names()) sim.quantizer(name)->set_enabled(false);
  const std::vector<Feed> feeds = samples(model, 2);
  calibrate(sim, feeds);
  for (const bool multiples : {false, true}) {
    for (const bool integers : {false, true}) {
      EXPECT_TRUE(comes_back_bit_by_bit(sim, feeds,
                                        {.integer_weights = integers, .lpbq_multiples = multiples}))
          << multiples << integers;
    }
  }
}

TEST(FromOnnxQdq, FreezesWhatItReads) {
  const Model model = nets().front().second;
  Simulation sim(model);
  calibrate(sim, samples(model, 1));
  Simulation again = from_onnx_qdq(to_onnx_qdq(sim));
  int enabled = 0;
  for (const std::string& name : again.tensor_names()) {
    if (!again.quantizer(name)->enabled()) continue;
    EXPECT_TRUE(again.quantizer(name)->frozen()) << name;
    ++enabled;
  }
  EXPECT_GT(enabled, 0);
}

TEST(StripQdq, ReadsPackedWholeNumbers) {
  Tensor codes = Tensor::allocate(DataType::kInt4, {3});
  auto* bytes = static_cast<unsigned char*>(codes.mutable_data());
  bytes[0] = 0x78;
  bytes[1] = 0x0F;
  EXPECT_EQ(graph::whole_numbers(codes), (std::vector<std::int64_t>{-8, 7, -1}));
}

TEST(StripQdq, ReadsFourWholeNumbersOfTwoBitsFromAByte) {
  Tensor codes = Tensor::allocate(DataType::kInt2, {5});
  auto* bytes = static_cast<unsigned char*>(codes.mutable_data());
  bytes[0] = 0b01001110;
  bytes[1] = 0b00000011;
  EXPECT_EQ(graph::whole_numbers(codes), (std::vector<std::int64_t>{-2, -1, 0, 1, -1}));
}

}  // namespace
}  // namespace bitsweep
