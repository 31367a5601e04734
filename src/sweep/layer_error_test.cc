#include "bitsweep/layer_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bitsweep/error.h"
#include "bitsweep/sweep.h"
#include "simulate/testing/nets.h"

namespace bitsweep {
namespace {

using simulate::testing::calibrate;
using simulate::testing::net;
using simulate::testing::samples;
using simulate::testing::VectorSource;

class LayerErrors : public ::testing::Test {
 protected:
  LayerErrors() : sim_(net("residual")), feeds_(samples(sim_.model(), 3)), source_(feeds_) {
    calibrate(sim_, feeds_);
  }
  Simulation sim_;
  std::vector<Feed> feeds_;
  VectorSource source_;
};

TEST_F(LayerErrors, LastLayerHasTheErrorOfTheOutput) {
  const std::vector<LayerError> layers = layer_errors(sim_, source_);
  const SweepResult sweep_result =
      sweep(sim_, source_, group_by_quantizer(sim_),
            {.metric = "mse", .mode = SweepMode::kCumulative, .reuse = false});
  const double whole = sweep_result.scores.back().score;
  const auto last = std::find_if(layers.begin(), layers.end(), [&](const LayerError& l) {
    return l.tensor == sim_.model().outputs().front().name;
  });
  ASSERT_NE(last, layers.end());
  // Sums run in another order, so an element may round to the next step.
  EXPECT_NEAR(last->mse, whole, 1e-3 * whole);
  EXPECT_GT(layers.front().mse, 0.0);
}

TEST_F(LayerErrors, AreZeroWithEverythingOff) {
  for (const std::string& tensor : sim_.tensor_names()) sim_.quantizer(tensor)->set_enabled(false);
  for (const LayerError& layer : layer_errors(sim_, source_)) EXPECT_EQ(layer.mse, 0.0);
}

TEST_F(LayerErrors, DoNotDependOnBatching) {
  std::vector<LayerError> once = layer_errors(sim_, source_);
  std::vector<Feed> twice = feeds_;
  twice.insert(twice.end(), feeds_.begin(), feeds_.end());
  VectorSource repeated(twice);
  const std::vector<LayerError> again = layer_errors(sim_, repeated);
  ASSERT_EQ(once.size(), again.size());
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(once[i].mse, again[i].mse, 1e-12);
}

TEST(LayerErrorsOfADetector, AreNotNumbersWhereSizesDiffer) {
  SimulationOptions coarse;
  coarse.parameter_format = coarse.activation_format = Format::integer(4);
  Simulation sim(simulate::testing::thresholded_boxes(), coarse);
  const std::vector<Feed> feeds = samples(sim.model(), 1);
  calibrate(sim, feeds);
  VectorSource source(feeds);
  const std::vector<LayerError> layers = layer_errors(sim, source);
  EXPECT_TRUE(std::isnan(layers.back().mse)) << layers.back().tensor;
  EXPECT_GT(layers.front().mse, 0.0);
}

TEST_F(LayerErrors, LooksAtAsManySamplesAsAsked) {
  std::vector<std::int64_t> done;
  layer_errors(sim_, source_, 2, [&](std::int64_t n) {
    done.push_back(n);
    return false;
  });
  EXPECT_THAT(done, ::testing::ElementsAre(1, 2));
}

TEST_F(LayerErrors, NoSampleIsAnError) {
  VectorSource none({});
  EXPECT_THROW(layer_errors(sim_, none), Error);
}

}  // namespace
}  // namespace bitsweep
