// What a model over 2 GB goes through, at a limit so low that small networks do too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "bitsweep/qdq_export.h"
#include "bitsweep/verify.h"
#include "simulate/testing/nets.h"

namespace bitsweep {
namespace {

using simulate::testing::calibrate;
using simulate::testing::nets;
using simulate::testing::samples;
using simulate::testing::VectorSource;

constexpr SaveOptions kOutside = {.external_data = ExternalData::kAuto, .inline_limit_bytes = 2048};

class LargeModel : public ::testing::Test {
 protected:
  LargeModel()
      : folder_(std::filesystem::temp_directory_path() /
                ("bitsweep-large-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~LargeModel() override { std::filesystem::remove_all(folder_); }

  // Read by memory map, as every model with external data.
  Model mapped(const Model& model) const {
    model.save(folder_ / "m.onnx", kOutside);
    return Model::load(folder_ / "m.onnx");
  }

  std::filesystem::path folder_;
};

TEST_F(LargeModel, CalibratesWithoutCopiesOfTheWeightsToTheSameEncodings) {
  for (const auto& [name, model] : nets()) {
    for (const Scheme scheme : {Scheme::kMinMax, Scheme::kTfEnhanced}) {
      Simulation with(model, {.scheme = scheme});
      Simulation without(mapped(model), {.scheme = scheme, .calibration_copies_bytes = 0});
      calibrate(with, samples(model, 3));
      VectorSource source(samples(model, 3));
      without.calibrate(source);
      for (const std::string& tensor : with.tensor_names()) {
        const auto& wanted = with.quantizer(tensor)->encoding();
        const auto& got = without.quantizer(tensor)->encoding();
        ASSERT_EQ(wanted.has_value(), got.has_value()) << name << " " << tensor;
        EXPECT_TRUE(!wanted || wanted->cells == got->cells) << name << " " << tensor;
      }
    }
  }
}

TEST_F(LargeModel, IsWrittenWithItsWeightsOutsideAndVerified) {
  for (const auto& [name, model] : nets()) {
    Simulation sim(mapped(model), {.calibration_copies_bytes = 0});
    VectorSource source(samples(model, 2));
    sim.calibrate(source);
    for (const bool integer_weights : {false, true}) {
      const std::filesystem::path file = folder_ / "q.onnx";
      to_onnx_qdq(sim, {.integer_weights = integer_weights}).save(file, kOutside);
      EXPECT_TRUE(std::filesystem::exists(folder_ / "q.onnx.data")) << name;
      const VerifyResult found = verify(sim, file, source, {.num_latency_runs = 0});
      EXPECT_TRUE(found.passed) << name << integer_weights;
      for (const LoadCheck& check : found.loads) EXPECT_TRUE(check.loads) << check.reason;
      EXPECT_THAT(found.problems, ::testing::IsEmpty());
    }
  }
}

}  // namespace
}  // namespace bitsweep
