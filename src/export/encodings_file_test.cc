#include "bitsweep/encodings_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/testing/not_root.h"
#include "base/testing/own_folder.h"
#include "bitsweep/error.h"
#include "graph/testing/model_builder.h"
#include "simulate/testing/nets.h"

namespace bitsweep {
namespace {

using graph::testing::ModelBuilder;
using simulate::testing::calibrate;
using simulate::testing::nets;
using simulate::testing::samples;
using ::testing::HasSubstr;

class EncodingsFile : public ::testing::Test {
 protected:
  std::size_t num_files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  const bitsweep::testing::OwnFolder own_;
  const std::filesystem::path folder_ = own_.path();
};

TEST_F(EncodingsFile, OfEveryVersionGivesTheSameOutputsAfterReading) {
  for (const auto& [name, model] : nets()) {
    Simulation sim(model);
    const std::vector<Feed> feeds = samples(model, 2);
    calibrate(sim, feeds);
    const std::vector<Tensor> expected = sim.run(feeds[0]);
    for (const char* version : {"0.6.1", "1.0.0", "2.0.0"}) {
      export_simulation(sim, folder_, "out", {.encodings = {.version = version}, .model = false});
      Simulation other(model);
      load_encodings(other, folder_ / "out.encodings", {.strict = false});
      const std::vector<Tensor> outputs = other.run(feeds[0]);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(outputs[i].equal_bits(expected[i]))
            << name << " " << version << " output " << i;
      }
    }
  }
}

std::string text_with_only(const Model& model, const std::string& tensor) {
  Simulation sim(model);
  for (const std::string& name : sim.tensor_names()) sim.quantizer(name)->set_enabled(false);
  sim.quantizer(tensor)->set_enabled(true);
  calibrate(sim, samples(model, 1));
  return encodings_text(sim, {.version = "2.0.0"});
}

TEST_F(EncodingsFile, GivesTheGridOfAChosenValueToAllItIsChosenFrom) {
  ModelBuilder m;
  m.opset(17).input("x", {1, 4}).floats("c", {}, {0.4F}).output("y");
  m.node("a = Sigmoid(x)").node("m = Max(a, c)").node("y = Sigmoid(m)");
  const std::string text = text_with_only(m.model(), "m");
  for (const char* name : {"a", "c", "m"})
    EXPECT_THAT(text, HasSubstr("\"name\": \"" + std::string(name) + "\""));
}

TEST_F(EncodingsFile, WritesTheFloatModelBesideIt) {
  const auto [name, model] = nets().front();
  Simulation sim(model);
  calibrate(sim, samples(model, 1));
  export_simulation(sim, folder_, "a name \xC3\xA4");
  EXPECT_EQ(num_files(), 2U);
  EXPECT_EQ(Model::load(folder_ / "a name \xC3\xA4.onnx").content_hash(), model.content_hash());
}

TEST_F(EncodingsFile, LeavesNothingBehindWhenItFails) {
  const auto [name, model] = nets().front();
  Simulation sim(model);
  EXPECT_THROW(export_simulation(sim, folder_, "out"), Error);  // not calibrated
  calibrate(sim, samples(model, 1));
  EXPECT_THROW(export_simulation(sim, folder_, "out", {.encodings = {.version = "3.0.0"}}), Error);
  EXPECT_THROW(export_simulation(sim, folder_, "sub/out"), Error);
  EXPECT_THROW(export_simulation(sim, folder_ / "missing", "out"), Error);
  std::filesystem::create_directory(folder_ / "out.onnx");
  EXPECT_THROW(export_simulation(sim, folder_, "out"), Error);
  EXPECT_EQ(num_files(), 1U);
}

TEST_F(EncodingsFile, IsNotWrittenIntoAFolderThatMayOnlyBeRead) {
  const auto [name, model] = nets().front();
  Simulation sim(model);
  calibrate(sim, samples(model, 1));
  std::filesystem::permissions(folder_, std::filesystem::perms(0555));
  {
    const bitsweep::testing::NotRoot not_root;
    EXPECT_THAT([&] { export_simulation(sim, folder_, "out"); },
                ::testing::ThrowsMessage<Error>(HasSubstr("\" is not writable")));
  }
  EXPECT_EQ(num_files(), 0U);
  std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
}

TEST_F(EncodingsFile, StrictReadingListsDifferencesAndChangesNothing) {
  const auto [name, model] = nets().front();
  Simulation sim(model);
  calibrate(sim, samples(model, 1));
  export_simulation(sim, folder_, "out");
  Simulation other(model, {.activation_format = Format::integer(16)});
  const auto file = folder_ / "out.encodings";
  EXPECT_THROW(load_encodings(other, file), Error);
  for (const std::string& tensor : other.tensor_names())
    EXPECT_FALSE(other.quantizer(tensor)->initialized()) << tensor;
  const std::vector<EncodingMismatch> found = load_encodings(other, file, {.strict = false});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().format, std::make_pair(std::string("int16"), std::string("int8")));
  Simulation same(model);
  EXPECT_TRUE(load_encodings(same, file).empty());
}

TEST_F(EncodingsFile, NamesTensorsThatTheModelDoesNotHave) {
  const auto [name, model] = nets().front();
  Simulation sim(model);
  const auto file = folder_ / "bad.encodings";
  std::ofstream(file)
      << R"({"version": "2.0.0", "encodings": [{"name": "nowhere", "output_dtype": "uint8", "y_scale": 1.0}]})";
  try {
    load_encodings(sim, file);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("\"nowhere\", which the model does not have"));
  }
  EXPECT_THROW(load_encodings(sim, folder_ / "missing.encodings"), Error);
}

TEST_F(EncodingsFile, PutsLargeWeightsOfTheModelIntoADataFileOfThePrefix) {
  Simulation sim(nets().front().second);
  calibrate(sim, samples(nets().front().second, 1));
  ExportOptions options;
  options.save.inline_limit_bytes = 16;
  export_simulation(sim, folder_, "m \u00e4", options);
  EXPECT_EQ(num_files(), 3U);
  for (const char* ending : {".data", ".encodings", ".onnx"})
    EXPECT_TRUE(std::filesystem::exists(folder_ / (std::string("m \u00e4") + ending))) << ending;
  EXPECT_EQ(Model::load(folder_ / "m \u00e4.onnx").content_hash(), sim.model().content_hash());
}

}  // namespace
}  // namespace bitsweep
