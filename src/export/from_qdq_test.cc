#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "bitsweep/error.h"
#include "bitsweep/qdq_export.h"
#include "graph/qdq_strip.h"
#include "graph/testing/model_builder.h"
#include "simulate/testing/nets.h"

namespace bitsweep {
namespace {

using simulate::testing::calibrate;
using simulate::testing::nets;
using simulate::testing::samples;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace bitsweep
