#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing/own_folder.h"
#include "bitsweep/allocation.h"
#include "bitsweep/error.h"
#include "graph/testing/model_builder.h"

namespace bitsweep {
namespace {

using graph::testing::ModelBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Candidate kA16W16{Format::integer(16), Format::integer(16)};
const Candidate kA16W8{Format::integer(16), Format::integer(8)};
const Candidate kA8W8{Format::integer(8), Format::integer(8)};
const Candidate kA8W4{Format::integer(8), Format::integer(4)};

/// {"activation": ..., "param": ...} with integer types; no parameter when 0 bits.
std::string kernel(int activation, int parameter = 0) {
  const auto type = [](int bits) {
    return R"({"bitwidth": )" + std::to_string(bits) + R"(, "dtype": "int"})";
  };
  return R"({"activation": )" + type(activation) +
         (parameter > 0 ? R"(, "param": )" + type(parameter) : "") + "}";
}

/// x -> Conv(w) -> c -> Relu -> y, not fused: groups {c}, {x, w} and {y}.
SupportedCandidates filter(const std::string& default_kernels, const std::string& op_types,
                           const std::vector<Candidate>& candidates, bool ignore = false) {
  const bitsweep::testing::OwnFolder folder;
  const std::filesystem::path path = folder.path() / "rules.json";
  const std::string listed =
      default_kernels.empty() ? "" : R"(, "supported_kernels": [)" + default_kernels + "]";
  std::ofstream(path) << R"({"defaults": {"ops": {"is_output_quantized": "True"},
    "params": {"is_quantized": "True"})"
                      << listed << R"(}, "params": {}, "op_type": {)" << op_types
                      << R"(}, "supergroups": [],
    "model_input": {"is_input_quantized": "True"}, "model_output": {}})";
  ModelBuilder m;
  m.input("x", {1, 2, 4, 4}).random("w", {2, 2, 1, 1}, 1);
  m.node("c = Conv(x, w)").node("y = Sigmoid(c)").output("y");
  const Simulation sim(m.model(), {.rules = path.string()});
  return supported_candidates(sim, quantizer_groups(sim), candidates, ignore);
}

std::string message(const std::string& defaults, const std::string& op_types,
                    const std::vector<Candidate>& candidates) {
  try {
    filter(defaults, op_types, candidates);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(SupportedKernels, RulesWithoutKernelsAllowEverythingInTheGivenOrder) {
  const SupportedCandidates s = filter("", "", {kA8W8, kA16W16, kA8W8});
  ASSERT_EQ(s.by_group.size(), 3U);
  for (const auto& list : s.by_group) EXPECT_THAT(list, ElementsAre(kA8W8, kA16W16));
  EXPECT_THAT(s.options, ElementsAre(kA8W8, kA16W16));
}

TEST(SupportedKernels, DefaultsFilterEveryGroupAndSortByBits) {
  const SupportedCandidates s =
      filter(kernel(16, 8) + "," + kernel(8, 8), "", {kA8W8, kA16W8, kA16W16});
  for (const auto& list : s.by_group) EXPECT_THAT(list, ElementsAre(kA16W8, kA8W8));
  EXPECT_THAT(s.options, ElementsAre(kA8W8, kA16W8));
}

TEST(SupportedKernels, OperatorTypeDecidesForItsParametersInputsAndOutputs) {
  const SupportedCandidates s =
      filter(kernel(16, 16) + "," + kernel(8, 8),
             R"("Conv": {"supported_kernels": [)" + kernel(8, 8) + "]}", {kA16W16, kA8W8});
  EXPECT_THAT(s.by_group[0], ElementsAre(kA8W8));           // c
  EXPECT_THAT(s.by_group[1], ElementsAre(kA8W8));           // x, w
  EXPECT_THAT(s.by_group[2], ElementsAre(kA16W16, kA8W8));  // y
}

TEST(SupportedKernels, KernelsWithoutParametersCompareActivationsOnly) {
  const SupportedCandidates s =
      filter(kernel(16, 8) + "," + kernel(8, 8),
             R"("Sigmoid": {"supported_kernels": [)" + kernel(8) + "]}", {kA16W8, kA8W8});
  EXPECT_THAT(s.by_group[0], ElementsAre(kA16W8, kA8W8));
  const Candidate activation_only{Format::integer(8), std::nullopt};
  EXPECT_THAT(s.by_group[2], ElementsAre(activation_only));
  EXPECT_THAT(s.options, ElementsAre(kA16W8, kA8W8));
}

TEST(SupportedKernels, CanBeIgnored) {
  const SupportedCandidates s = filter(kernel(16, 8), "", {kA8W8, kA8W4}, true);
  for (const auto& list : s.by_group) EXPECT_THAT(list, ElementsAre(kA8W8, kA8W4));
}

TEST(SupportedKernels, NothingInCommonNamesTheOperatorAndTheCandidates) {
  EXPECT_THAT(message(kernel(16, 8), "", {kA8W8}), HasSubstr("int16/int8"));
  const std::string of_conv =
      message(kernel(8, 8), R"("Conv": {"supported_kernels": [)" + kernel(16, 16) + "]}", {kA8W8});
  EXPECT_THAT(of_conv, HasSubstr("Conv"));
  EXPECT_THAT(of_conv, HasSubstr("int8/int8"));
  EXPECT_THAT(message("", "", {}), HasSubstr("no candidate"));
}

TEST(SupportedKernels, ListsOfOperatorTypesNeedDefaults) {
  EXPECT_THAT(message("", R"("Conv": {"supported_kernels": [)" + kernel(8, 8) + "]}", {kA8W8}),
              HasSubstr("defaults"));
}

}  // namespace
}  // namespace bitsweep
