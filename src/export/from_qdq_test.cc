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
constexpr std::array<std::pair<int, int>, 4> kWidths = {{{4, 8}, {8, 8}, {8, 16}, {3, 6}}};

TEST(FromOnnxQdq, GivesTheVeryOutputsOfTheSimulationThatWasExported) {
  for (const auto& [name, model] : nets()) {
    for (const bool integers : {false, true}) {
      for (const auto& [weights, activations] : kWidths) {
        Simulation sim(model, {.parameter_format = Format::integer(weights),
                               .activation_format = Format::integer(activations)});
        const std::vector<Feed> feeds = samples(model, 2);
        calibrate(sim, feeds);
        Simulation again = from_onnx_qdq(to_onnx_qdq(sim, {.integer_weights = integers}));
        for (const Feed& feed : feeds) {
          const std::vector<Tensor> expected = sim.run(feed);
          const std::vector<Tensor> got = again.run(feed);
          ASSERT_EQ(got.size(), expected.size()) << name;
          for (std::size_t i = 0; i < got.size(); ++i)
            EXPECT_TRUE(got[i].equal_bits(expected[i]))
                << name << " W" << weights << "A" << activations << " " << integers;
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
