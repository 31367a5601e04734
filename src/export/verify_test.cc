#include "bitsweep/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/testing/own_folder.h"
#include "bitsweep/error.h"
#include "bitsweep/qdq_export.h"
#include "export/agreement.h"
#include "graph/file/onnx_checks.h"
#include "graph/testing/model_builder.h"
#include "simulate/testing/nets.h"

namespace bitsweep {
namespace {

using graph::testing::ModelBuilder;
using graph::testing::tensor;
using simulate::testing::calibrate;
using simulate::testing::samples;
using ::testing::Contains;
using ::testing::HasSubstr;

class Feeds : public SampleSource {
 public:
  explicit Feeds(std::vector<Feed> feeds) : feeds_(std::move(feeds)) {}
  bool next(Feed* feed) override {
    if (at_ == feeds_.size()) return false;
    *feed = feeds_[at_++];
    return true;
  }
  void rewind() override { at_ = 0; }

 private:
  std::vector<Feed> feeds_;
  std::size_t at_ = 0;
};

Model chain(std::uint64_t seed = 2) {
  ModelBuilder m;
  m.opset(13).input("x", {1, 8});
  m.random("w1", {8, 8}, 1).random("w2", {8, 8}, seed).random("w3", {8, 4}, 3);
  m.node("a = MatMul(x, w1)").node("b = MatMul(a, w2)").node("y = MatMul(b, w3)").output("y");
  return m.model();
}

// Every quantizer: 8 bits from 0 to 255.
void set_steps_of_one(Simulation& sim) {
  for (const std::string& name : sim.tensor_names()) {
    sim.quantizer(name)->load_encoding(
        {.format = Format::integer(8),
         .granularity = {},
         .grid = {},
         .cells = {{.min = 0.0, .max = 255.0, .delta = 1.0, .offset = 0.0}}});
  }
}

class Verify : public ::testing::Test {
 protected:
  const bitsweep::testing::OwnFolder own_;
  const std::filesystem::path folder_ = own_.path();
  VerifyOptions quick_{.num_latency_runs = 1};
};

TEST_F(Verify, PassesForWhatWasExported) {
  const Model model = chain();
  Simulation sim(model);
  calibrate(sim, samples(model, 3));
  const auto qdq = folder_ / "q \u00e4.onnx";
  to_onnx_qdq(sim, {.integer_weights = true, .int32_bias = true}).save(qdq);
  Feeds feeds(samples(model, 3));
  const VerifyResult result = verify(sim, qdq, feeds, quick_);
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.num_samples, 3);
  ASSERT_EQ(result.loads.size(), 4U);
  for (const LoadCheck& check : result.loads) EXPECT_TRUE(check.loads) << check.reason;
  EXPECT_EQ(result.agreements.size(), 5U);
  EXPECT_FALSE(result.first_disagreement);
  EXPECT_GT(result.qdq_ms, 0.0);
}

TEST_F(Verify, ReadsTheSimulationBackFromTheFiles) {
  const Model model = chain();
  Simulation sim(model);
  calibrate(sim, samples(model, 2));
  model.save(folder_ / "f.onnx");
  to_onnx_qdq(sim).save(folder_ / "q.onnx");
  Feeds feeds(samples(model, 2));
  EXPECT_TRUE(verify(folder_ / "f.onnx", folder_ / "q.onnx", feeds, {}, quick_).passed);
}

TEST_F(Verify, NamesTheFirstTensorThatDisagrees) {
  const Model model = chain();
  Simulation sim(model);
  calibrate(sim, samples(model, 2));
  to_onnx_qdq(sim).save(folder_ / "q.onnx");
  Encoding coarse = *sim.quantizer("b")->encoding();
  AffineEncoding& cell = coarse.cells.front();
  cell.delta *= 16.0;
  cell.min *= 16.0;
  cell.max *= 16.0;
  sim.quantizer("b")->load_encoding(coarse);
  Feeds feeds(samples(model, 2));
  VerifyOptions options = quick_;
  options.max_steps = 0.05;
  const VerifyResult result = verify(sim, folder_ / "q.onnx", feeds, options);
  EXPECT_FALSE(result.passed);
  ASSERT_TRUE(result.first_disagreement);
  EXPECT_EQ(result.first_disagreement->tensor, "b");
  EXPECT_GT(result.first_disagreement->max_difference, 0.0);
}

TEST_F(Verify, SaysThatCastsAreMissing) {
  const Model model = chain();
  Simulation sim(model, {.activation_format = Format::parse("bfloat16")});
  calibrate(sim, samples(model, 2));
  Feeds feeds(samples(model, 2));
  VerifyOptions options = quick_;
  options.max_steps = 0.05;
  const auto notes = [&](bool half_casts) {
    to_onnx_qdq(sim, {.half_casts = half_casts}).save(folder_ / "q.onnx");
    return verify(sim, folder_ / "q.onnx", feeds, options).notes;
  };
  EXPECT_THAT(notes(false), ::testing::Contains(::testing::HasSubstr("without the casts")));
  EXPECT_THAT(notes(true), ::testing::IsEmpty());
}

TEST_F(Verify, NamesAWeightThatIsNotTheSimulations) {
  const Model model = chain();
  Simulation sim(model);
  calibrate(sim, samples(model, 2));
  Simulation other(chain(7));
  calibrate(other, samples(model, 2));
  to_onnx_qdq(other, {.integer_weights = true}).save(folder_ / "q.onnx");
  Feeds feeds(samples(model, 2));
  const VerifyResult result = verify(sim, folder_ / "q.onnx", feeds, quick_);
  EXPECT_FALSE(result.passed);
  ASSERT_TRUE(result.first_disagreement);
  EXPECT_EQ(result.first_disagreement->tensor, "w2");
  EXPECT_GT(result.first_disagreement->max_steps, 1.0);
  EXPECT_GT(result.first_disagreement->share, 0.5);
}

TEST_F(Verify, RoundsHalfStepsAsTheFileDoes) {
  ModelBuilder m;
  m.opset(13).input("x", {1, 4});
  m.node("y = Relu(x)").output("y");
  const Model model = m.model();
  Simulation sim(model);
  set_steps_of_one(sim);
  to_onnx_qdq(sim).save(folder_ / "q.onnx");
  Feeds feeds({{{"x", tensor({1, 4}, std::vector<float>{0.5F, 1.5F, 2.5F, 3.5F})}}});
  const VerifyResult result = verify(sim, folder_ / "q.onnx", feeds, quick_);
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.agreements[0].reference, "plain simulation");
  EXPECT_EQ(result.agreements[0].max_steps, 0.0);
  EXPECT_EQ(result.agreements[1].reference, "simulation");
  EXPECT_EQ(result.agreements[1].max_steps, 1.0);
}

TEST_F(Verify, ExplainsWhyTheUsualRunDiffersFromAFileThatIsRight) {
  ModelBuilder m;
  m.opset(13).input("x", {1, 4}).floats("ten", {}, {10.0F});
  const Model model = m.node("r = Relu(x)").node("y = Mul(r, ten)").output("y").model();
  Simulation sim(model);
  set_steps_of_one(sim);
  to_onnx_qdq(sim).save(folder_ / "q.onnx");
  // The simulation rounds half steps up, QuantizeLinear to even.
  Feeds feeds({{{"x", tensor({1, 4}, std::vector<float>{0.5F, 2.5F, 3.0F, 4.0F})}}});
  const VerifyResult result = verify(sim, folder_ / "q.onnx", feeds, quick_);
  EXPECT_TRUE(result.passed);
  EXPECT_THAT(result.notes, Contains(HasSubstr("\"y\" differs from the file by up to 10 steps")));
}

TEST_F(Verify, SaysWhenTheFastKernelsOfThisCpuSaturate) {
  ModelBuilder m;
  m.opset(13).input("x", {1, 64}).floats("w", {64, 4}, std::vector<float>(256, 1.27F));
  const Model model = m.node("y = MatMul(x, w)").output("y").model();
  const Feed feed = {{"x", tensor({1, 64}, std::vector<float>(64, 2.0F))}};
  Simulation sim(model);
  calibrate(sim, {feed});
  to_onnx_qdq(sim, {.integer_weights = true}).save(folder_ / "q.onnx");
  Feeds feeds({feed});
  const VerifyResult result = verify(sim, folder_ / "q.onnx", feeds, quick_);
  EXPECT_TRUE(result.passed);
  const Agreement& optimized = result.agreements[2];
  ASSERT_EQ(optimized.tested, "qdq optimized");
  // Pairs of products are 2 * 255 * 127, which 16 bits cannot hold; with VNNI they need not.
  const bool saturates = optimized.max_steps > 10.0;
  EXPECT_EQ(saturates, !result.notes.empty());
  if (saturates) {
    EXPECT_THAT(result.notes, Contains(HasSubstr("session.x64quantprecision=1")));
  }
}

TEST_F(Verify, NamesTheTensorWhereTheSimulationBeginsToComputeNan) {
  ModelBuilder m;
  m.opset(13).input("x", {1, 4}).node("v = Mul(x, x)").node("s = Sqrt(v)");
  const Model model = m.node("n = Div(x, s)").node("y = Relu(n)").output("y").model();
  Tensor x = Tensor::allocate(DataType::kFloat, {1, 4});
  const float data[] = {10.0F, 1e-3F, -5.0F, 7.0F};
  std::copy(std::begin(data), std::end(data), x.mutable_floats().begin());
  Simulation sim(model);
  calibrate(sim, {{{"x", x}}});
  to_onnx_qdq(sim).save(folder_ / "q.onnx");
  Feeds feeds({{{"x", x}}});
  const VerifyResult result = verify(sim, folder_ / "q.onnx", feeds, quick_);
  EXPECT_THAT(result.notes, Contains(HasSubstr("it begins in \"n\"")));
  EXPECT_THAT(result.notes, Contains(HasSubstr("turn values of \"s\" to 0")));
}

TEST_F(Verify, NamesTheFunctionsThatWereInlined) {
  ModelBuilder body;
  body.opset(17).node("t = Mul(a, a)").node("b = Relu(t)");
  ModelBuilder m;
  m.opset(17).opset(1, "f").input("x", {1, 4}).output("y");
  m.function("b = f::Square(a)", body).function("b = f::Unused(a)", body);
  const Model model = m.node("s = f::Square(x)").node("y = f::Square(s)").model();
  Simulation sim(model);
  Feeds feeds(samples(model, 2));
  sim.calibrate(feeds);
  to_onnx_qdq(sim).save(folder_ / "q.onnx");
  const VerifyResult result = verify(sim, folder_ / "q.onnx", feeds, quick_);
  EXPECT_TRUE(result.passed);
  EXPECT_THAT(result.notes, Contains(::testing::EndsWith(": \"f::Square\"")));
}

TEST_F(Verify, SaysWhatIsWrongWithTheFile) {
  ModelBuilder m;
  m.opset(13).input("x", {1, 4}).random("w", {4, 4}).floats("s", {4}, {1, 1, 1, 1});
  m.initializer("z", tensor({4}, std::vector<std::int64_t>{0, 0, 0, 0}));
  m.node("y = MatMul(x, v) {name: \"twice\"}")
      .node("v = Identity(w) {name: \"twice\"}")
      .output("y");
  const std::vector<std::string> problems = graph::onnx_problems(m.model());
  EXPECT_THAT(problems, Contains(HasSubstr("before anything makes it")));
  EXPECT_THAT(problems, Contains(HasSubstr("two nodes are named \"twice\"")));
}

TEST(AgreementSums, CountStepsNoiseAndTheLargestEntry) {
  exporting::AgreementSums sums;
  sums.add(tensor({2, 2}, std::vector<float>{1, 0, 0, 2}),
           tensor({2, 2}, std::vector<float>{1, 0, 0, 1}), 0.5);
  EXPECT_EQ(sums.max_difference(), 1.0);
  EXPECT_EQ(sums.max_steps(), 2.0);
  EXPECT_NEAR(sums.sqnr_db(), 10.0 * std::log10(5.0), 1e-12);
  EXPECT_EQ(sums.top1_agreement(), 1.0);
  sums.add(tensor({1, 2}, std::vector<float>{1, 0}), tensor({1, 2}, std::vector<float>{0, 1}), 0.5);
  EXPECT_NEAR(sums.top1_agreement(), 2.0 / 3.0, 1e-12);
}

}  // namespace
}  // namespace bitsweep
