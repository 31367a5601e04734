#include <gmock/gmock.h>

#include "bitsweep/report.h"
#include "report/testing/two_convolutions.h"

namespace bitsweep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SweepPage : public ::testing::Test {
 protected:
  /// As if the last group were the most sensitive one.
  static SweepResult swept(const std::vector<SweepGroup>& groups) {
    SweepResult result;
    result.metric = "sqnr";
    result.unit = "dB";
    result.groups = groups;
    for (std::size_t i = groups.size(); i-- > 0;)
      result.scores.push_back(
          {.name = groups[i].name, .score = 10.0 + static_cast<double>(groups.size() - i)});
    return result;
  }

  static std::vector<std::string> names_of(const SensitivityPage& page) {
    std::vector<std::string> names;
    for (const auto& [name, score] : page.scores) names.push_back(name);
    return names;
  }

  Simulation sim_{report::two_convolutions()};
};

TEST_F(SweepPage, ShowsQuantizersAlongTheNetwork) {
  const SensitivityPage page =
      sensitivity_page(sim_, swept({{"b", {"b"}}, {"w", {"w"}}, {"a", {"a"}}}));
  EXPECT_THAT(names_of(page), ElementsAre("w", "a", "b"));
  EXPECT_THAT(page.details, ElementsAre(HasSubstr("parameter, int8"), HasSubstr("activation, int8"),
                                        HasSubstr("activation, int8")));
  EXPECT_EQ(page.details_label, "Quantizer");
  EXPECT_EQ(page.metric, "sqnr (dB)");
  EXPECT_THAT(page.intro.sentences,
              ElementsAre(StartsWith("Most sensitive: a at 11.00 dB, then w")));
}

TEST_F(SweepPage, SaysTheTypesOfOperators) {
  const SensitivityPage page = sensitivity_page(sim_, swept(group_by_operator(sim_)));
  EXPECT_EQ(page.details_label, "Operator");
  EXPECT_THAT(page.details, ElementsAre("Conv", "Sigmoid", "Conv"));
}

TEST_F(SweepPage, OperatorsWithTheSameQuantizersSaySo) {
  graph::testing::ModelBuilder m;
  m.input("x", {1, 2, 4, 4}).random("w", {2, 2, 1, 1}, 1).node("c = Conv(x, w)");
  m.node("first = Concat(c, c) {axis: 1}").node("y = Concat(first, c) {axis: 1}");
  const Simulation sim{m.output("y").model()};
  const SensitivityPage page = sensitivity_page(sim, swept(group_by_operator(sim)));
  EXPECT_THAT(page.details, ElementsAre("Conv", "Concat", HasSubstr("Concat, has the quantizers")));
  EXPECT_THAT(page.repeats, ElementsAre(false, false, true));
}

TEST_F(SweepPage, CountsTheQuantizersOfOtherGroups) {
  const SensitivityPage page =
      sensitivity_page(sim_, swept({{"late", {"v", "b"}}, {"early", {"x", "w", "c"}}}));
  EXPECT_THAT(names_of(page), ElementsAre("early", "late"));
  EXPECT_THAT(page.details, ElementsAre("3 quantizers", "2 quantizers"));
  EXPECT_EQ(page.details_label, "Group");
}

TEST_F(SweepPage, WithoutASensitiveGroupTheRestIsBetter) {
  SweepResult result = swept({{"w", {"w"}}});
  EXPECT_FALSE(sensitivity_page(sim_, result).higher_is_worse);
  result.mode = SweepMode::kDisableOne;
  EXPECT_TRUE(sensitivity_page(sim_, result).higher_is_worse);
}

}  // namespace
}  // namespace bitsweep
