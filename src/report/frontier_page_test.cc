#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "bitsweep/error.h"
#include "bitsweep/report.h"
#include "report/testing/test_page.h"
#include "report/testing/two_convolutions.h"

namespace bitsweep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const Candidate kW8A8{Format::integer(8), Format::integer(8)};
const Candidate kW8A16{Format::integer(16), Format::integer(8)};

class FrontierPageOfMix : public ::testing::Test {
 protected:
  FrontierPageOfMix() { result_.groups = quantizer_groups(sim_); }

  MixPoint point(double cost, const Candidate& of_all, const Candidate& of_first) const {
    MixPoint p{.by_group = std::vector<Candidate>(result_.groups.size(), of_all),
               .costs = std::vector<double>(mix_costs().size(), cost),
               .predicted_db = 31.0,
               .measured_db = 30.0};
    p.by_group.front() = of_first;
    return p;
  }

  Simulation sim_{report::two_convolutions()};
  MixResult result_;
};

TEST_F(FrontierPageOfMix, ListsGroupsAlongTheNetworkAndTypesByBits) {
  result_.frontier = {point(0.5, kW8A8, kW8A8), point(0.75, kW8A8, kW8A16)};
  result_.chosen = result_.frontier[1];
  const FrontierPage page = frontier_page(sim_, result_, "bops", {parse_mix_target("sqnr>=29")});
  EXPECT_THAT(page.types, ElementsAre("W8A16", "W8A8"));
  EXPECT_EQ(result_.groups.front().activations, std::vector<std::string>{"a"});
  EXPECT_THAT(page.groups, ElementsAre("x", "c", "a", "b"));
  ASSERT_EQ(page.points.size(), 2U);
  EXPECT_THAT(page.points[1].types, ElementsAre(1, 1, 0, 1));
  EXPECT_EQ(page.points[1].cost, 0.75);
  EXPECT_EQ(page.points[1].quality, 30.0);
  EXPECT_EQ(page.points[1].predicted, 31.0);
  EXPECT_EQ(page.chosen, 1);
  EXPECT_EQ(page.wanted, 29.0);
  EXPECT_THAT(page.facts, ElementsAre(Pair("target", "sqnr \u2265 29")));
  EXPECT_THAT(page.intro.sentences, ElementsAre(HasSubstr("30.00 dB at bops 0.75"),
                                                HasSubstr("from 30.00 dB at bops 0.5")));
}

TEST_F(FrontierPageOfMix, SaysWhatTestSamplesMiss) {
  result_.frontier = {point(0.5, kW8A8, kW8A8)};
  result_.chosen = result_.frontier[0];
  result_.test_db = 27.0;
  const FrontierPage page = frontier_page(sim_, result_, "bops", {parse_mix_target("sqnr>=29")});
  EXPECT_THAT(page.intro.sentences.back(), HasSubstr("2.00 dB less than asked for"));
}

TEST_F(FrontierPageOfMix, AChoiceBesideTheCurveStandsAtItsCost) {
  result_.frontier = {point(0.5, kW8A8, kW8A8), point(1.0, kW8A16, kW8A16)};
  result_.chosen = point(0.75, kW8A8, kW8A16);
  const FrontierPage page = frontier_page(sim_, result_, "bops", {});
  ASSERT_EQ(page.points.size(), 3U);
  EXPECT_EQ(page.chosen, 1);
  EXPECT_EQ(page.points[1].cost, 0.75);
  EXPECT_EQ(page.wanted, std::nullopt);
}

TEST_F(FrontierPageOfMix, UnknownCostNamesTheKnownOnes) {
  result_.frontier = {point(0.5, kW8A8, kW8A8)};
  try {
    frontier_page(sim_, result_, "dollars", {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no cost is named \"dollars\"; use one of: bops, "));
  }
}

TEST(WriteFrontierPage, KeepsNumbersThatJsonLacks) {
  const report::TestPage file;
  FrontierPage page{.cost_label = "bytes", .types = {"W8A8"}, .groups = {"x"}};
  page.points = {{.cost = 4.0, .quality = std::numeric_limits<double>::infinity(), .types = {0}}};
  write_frontier_page(page, file.path());
  const auto data = nlohmann::json::parse(file.data());
  EXPECT_EQ(data["page"], "frontier");
  EXPECT_EQ(data["points"], nlohmann::json::parse(R"([{"cost": 4.0, "quality": "Infinity",
                                                       "predicted": null, "types": [0]}])"));
  EXPECT_EQ(data["wanted"], nullptr);
}

TEST(WriteFrontierPage, RefusesNoPointsAndTypesOfOtherGroups) {
  const report::TestPage file;
  EXPECT_THROW(write_frontier_page({}, file.path()), Error);
  FrontierPage page{.types = {"W8A8"}, .groups = {"x", "y"}};
  page.points = {{.cost = 1.0, .quality = 2.0, .types = {0}}};
  EXPECT_THROW(write_frontier_page(page, file.path()), Error);
  EXPECT_FALSE(std::filesystem::exists(file.path()));
}

}  // namespace
}  // namespace bitsweep
