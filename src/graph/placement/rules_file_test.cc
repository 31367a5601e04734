#include "graph/placement/rules_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing/own_folder.h"
#include "bitsweep/error.h"

namespace bitsweep::graph {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(const std::string& text) {
  try {
    parse_rules(text, "mine.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidData);
    return error.what();
  }
  return "no error";
}

std::string with(const std::string& section) {
  return R"({"extends": "per_tensor", )" + section + "}";
}

TEST(RulesFile, EveryBuiltInFileFollowsTheSchema) {
  const std::vector<std::string> aliases = rules_aliases();
  for (const char* alias : {"default", "per_tensor", "dsp", "htp_v66", "htp_v68", "htp_v69",
                            "htp_v73", "htp_v75", "htp_v79", "htp_v81", "htp_v85", "enpu_v6",
                            "enpu_v7", "enpu_v7_per_channel", "ort_cpu", "tensorrt"}) {
    EXPECT_THAT(aliases, Contains(alias));
  }
  for (const std::string& alias : aliases) {
    const Rules rules = load_rules(alias);
    EXPECT_EQ(rules.name, alias);
    // These two run only some operators on integers and name them.
    const bool by_operator = alias == "ort_cpu" || alias == "tensorrt";
    EXPECT_EQ(rules.defaults.is_output_quantized, !by_operator) << alias;
    EXPECT_EQ(rules.model_input.value_or(false), !by_operator) << alias;
    EXPECT_EQ(rules.parameters.at("bias").is_quantized, false) << alias;
  }
}

TEST(RulesFile, HardwareVersionIsThatOfTheAlias) {
  EXPECT_EQ(load_rules("htp_v66").hw_version, 66);
  EXPECT_EQ(load_rules("htp_v85").hw_version, 85);
  EXPECT_EQ(load_rules("default").hw_version, 0);
}

TEST(RulesFile, ExtendsReplacesOnlyWhatIsSaid) {
  const Rules rules = parse_rules(
      with(
          R"("op_type": {"Cast": {"is_symmetric": "True"}}, "supergroups": [{"op_list": ["Conv", "Elu"]}])"),
      "mine");
  EXPECT_EQ(rules.op_types.at("Cast").is_output_quantized, false);
  EXPECT_EQ(rules.op_types.at("Cast").is_symmetric, true);
  EXPECT_TRUE(rules.op_types.contains("BatchNormalization"));
  ASSERT_EQ(rules.supergroups.size(), 1U);
  EXPECT_THAT(rules.supergroups[0], ElementsAre("Conv", "Elu"));
}

TEST(RulesFile, AlternativesInAPatternMakeEveryCombination) {
  const Rules rules = parse_rules(
      with(R"("supergroups": [{"op_list": [["Add", "Mul"], ["Relu", "Clip"]]}])"), "mine");
  ASSERT_EQ(rules.supergroups.size(), 4U);
  EXPECT_THAT(rules.supergroups[1], ElementsAre("Add", "Clip"));
  EXPECT_THAT(rules.supergroups[2], ElementsAre("Mul", "Relu"));
}

TEST(RulesFile, TakesJsonBooleansAsWell) {
  EXPECT_EQ(
      parse_rules(with(R"("model_input": {"is_input_quantized": false})"), "mine").model_input,
      false);
}

TEST(RulesFile, ReadsKernelsWithAndWithoutParameters) {
  const Rules rules = parse_rules(with(R"("op_type": {"Relu": {"supported_kernels": [
      {"activation": {"bitwidth": 16, "dtype": "float"}, "param": {"bitwidth": 4, "dtype": "int"}},
      {"activation": {"bitwidth": 8, "dtype": "int"}}]}})"),
                                  "mine");
  const auto& kernels = rules.op_types.at("Relu").supported_kernels.value();
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_TRUE(kernels[0].activation.is_float);
  EXPECT_EQ(kernels[0].parameter->bitwidth, 4);
  EXPECT_FALSE(kernels[1].parameter);
}

TEST(RulesFile, NamesTheUnknownKeyAndTheKnownOnes) {
  EXPECT_EQ(
      error_of(with(R"("op_type": {"Conv": {"is_quantized": "True"}})")),
      "rules \"mine.json\": \"op_type.Conv.is_quantized\" is an unknown key; use one of: "
      "is_input_quantized, "
      "is_output_quantized, is_symmetric, per_channel_quantization, params, encoding_constraints, "
      "supported_kernels");
  EXPECT_THAT(error_of(with(R"("extra": {})")), HasSubstr("\"extra\" is an unknown key"));
}

TEST(RulesFile, NamesTheBadValue) {
  EXPECT_THAT(
      error_of(with(R"("model_input": {"is_input_quantized": "true"})")),
      HasSubstr("\"model_input.is_input_quantized\" is \"true\"; write \"True\" or \"False\""));
  EXPECT_THAT(error_of(with(R"("defaults": {"hw_version": "79"})")),
              HasSubstr("\"defaults.hw_version\" is \"79\""));
  EXPECT_THAT(error_of(with(R"("supergroups": [{"op_list": ["Conv"]}])")),
              HasSubstr("\"supergroups[0].op_list\" is [\"Conv\"]; list two or more"));
  EXPECT_THAT(error_of(with(R"("op_type": {"Relu": {"encoding_constraints": {"max": 6}}})")),
              HasSubstr("key \"min\" is missing in \"op_type.Relu.encoding_constraints\""));
  EXPECT_THAT(
      error_of(with(R"("op_type": {"Relu": {"encoding_constraints": {"min": 1, "max": 1}}})")),
      HasSubstr("give a max above the min"));
  EXPECT_THAT(
      error_of(with(
          R"("defaults": {"supported_kernels": [{"activation": {"bitwidth": 7, "dtype": "int"}}]})")),
      HasSubstr(
          "\"defaults.supported_kernels[0].activation.bitwidth\" is 7; use one of: 4, 8, 16, 32"));
}

TEST(RulesFile, NamesTheUnknownPass) {
  EXPECT_EQ(error_of(with(R"("supergroup_pass_list": ["NoSuchPass"])")),
            "rules \"mine.json\": no pass of \"supergroup_pass_list\" is named \"NoSuchPass\"; use "
            "one of: MatmulAdd, "
            "LayerNormalization, RMSNormalization, MaskedSoftmax");
}

TEST(RulesFile, NamesTheMissingSection) {
  EXPECT_THAT(error_of(R"({"defaults": {"ops": {}, "params": {}}})"),
              HasSubstr("key \"params\" is missing"));
  EXPECT_THAT(error_of("{"), HasSubstr("not valid JSON near byte"));
  EXPECT_THAT(error_of("[]"), HasSubstr("not a JSON object"));
}

TEST(RulesFile, NamesBothWaysToFindRules) {
  try {
    load_rules("no_such_rules");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_THAT(error.what(), HasSubstr("\"no_such_rules\" is neither a built-in name nor a file"));
    EXPECT_THAT(error.what(), HasSubstr("default, dsp, enpu_v6"));
  }
}

TEST(RulesFile, ExtendsAFileBesideItAndRefusesCircles) {
  const bitsweep::testing::OwnFolder own;
  const std::filesystem::path& folder = own.path();
  const auto write = [&](const char* name, const char* text) {
    std::ofstream(folder / name) << text;
  };
  write("base.json", R"({"extends": "default", "defaults": {"strict_symmetric": "True"}})");
  write("mine.json", R"({"extends": "base.json", "defaults": {"hw_version": "V1"}})");
  write("a.json", R"({"extends": "b.json"})");
  write("b.json", R"({"extends": "a.json"})");
  const Rules rules = load_rules((folder / "mine.json").string());
  EXPECT_TRUE(rules.strict_symmetric);
  EXPECT_EQ(rules.hw_version, 1);
  EXPECT_EQ(rules.op_types.at("Conv").per_channel, true);
  EXPECT_THROW(load_rules((folder / "a.json").string()), Error);
}

}  // namespace
}  // namespace bitsweep::graph
