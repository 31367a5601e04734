// What a model over 2 GB goes through, at a limit so low that small networks do too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/testing/own_folder.h"
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
  // Read by memory map, as every model with external data.
  Model mapped(const Model& model) const {
    model.save(folder_ / "m.onnx", kOutside);
    return Model::load(folder_ / "m.onnx");
  }

  const bitsweep::testing::OwnFolder own_;
  const std::filesystem::path folder_ = own_.path();
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

TEST_F(LargeModel, IsCheckedOneRunAfterAnotherWithTheSameResult) {
  int num_samples = 66;  // more than are run at once, with the first network
  for (const auto& [name, model] : nets()) {
    Simulation small(model);
    Simulation large(mapped(model), {.calibration_copies_bytes = 0});
    VectorSource source(samples(model, num_samples));
    small.calibrate(source);
    source.rewind();
    large.calibrate(source);
    const std::filesystem::path file = folder_ / "q.onnx";
    to_onnx_qdq(large).save(file, kOutside);
    const VerifyResult wanted = verify(small, file, source, {.num_latency_runs = 1});
    const VerifyResult got = verify(large, file, source, {.num_latency_runs = 1});
    EXPECT_EQ(got.passed, wanted.passed) << name;
    EXPECT_EQ(got.num_samples, num_samples);
    ASSERT_EQ(got.agreements.size(), wanted.agreements.size());
    for (std::size_t i = 0; i < got.agreements.size(); ++i) {
      const Agreement& row = got.agreements[i];
      EXPECT_EQ(row.output, wanted.agreements[i].output);
      EXPECT_EQ(row.tested, wanted.agreements[i].tested);
      if (row.reference != "plain simulation") continue;  // the others are not fused here
      EXPECT_EQ(row.max_difference, wanted.agreements[i].max_difference) << name;
      EXPECT_EQ(row.sqnr_db, wanted.agreements[i].sqnr_db) << name;
    }
    EXPECT_GT(wanted.qdq_ms, 0.0);
    EXPECT_EQ(got.qdq_ms, 0.0);
    EXPECT_THAT(got.notes, ::testing::Contains(::testing::HasSubstr("no latency was measured")));
    EXPECT_TRUE(verify(folder_ / "m.onnx", file, source, {.calibration_copies_bytes = 0}).passed)
        << name;
    num_samples = 2;
  }
}

}  // namespace
}  // namespace bitsweep
