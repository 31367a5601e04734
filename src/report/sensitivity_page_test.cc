#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "bitsweep/error.h"
#include "bitsweep/report.h"
#include "report/testing/test_page.h"

namespace bitsweep {
namespace {

using Json = nlohmann::json;

class WriteSensitivityPage : public ::testing::Test {
 protected:
  std::string html(const SensitivityPage& page) {
    write_sensitivity_page(page, file_.path());
    return file_.html();
  }

  Json data(const SensitivityPage& page) {
    write_sensitivity_page(page, file_.path());
    return Json::parse(file_.data());
  }

  std::string message_of(const SensitivityPage& page) {
    try {
      write_sensitivity_page(page, file_.path());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return error.what();
    }
    return "no error";
  }

  const report::TestPage file_;
};

SensitivityPage page_of(std::vector<std::pair<std::string, double>> scores) {
  SensitivityPage page;
  page.metric = "SQNR (dB)";
  page.scores = std::move(scores);
  return page;
}

std::vector<Json> ranks(const Json& data) {
  std::vector<Json> result;
  for (const Json& entry : data["entries"]) result.push_back(entry["rank"]);
  return result;
}

TEST_F(WriteSensitivityPage, ShowsInteractionsOfTheMostSensitiveEntriesByRank) {
  SensitivityPage page = page_of({{"a", 30.0}, {"b", 10.0}, {"twin of a", 30.0}});
  page.interactions = Interactions{.groups = {"b", "a", "twin of a"},
                                   .rows = {0, 1, 1},
                                   .num_rows = 2,
                                   .outputs = {{.gram = {4.0, -1.0, -1.0, 1.0}}}};
  const Json shown = data(page)["interactions"];
  EXPECT_EQ(shown["entries"], Json({1, 0, 2}));
  EXPECT_DOUBLE_EQ(shown["matrix"][0][1].get<double>(), -0.4);
  EXPECT_DOUBLE_EQ(shown["matrix"][1][2].get<double>(), 1.0);
  EXPECT_EQ(shown["pairs"][0]["first"], "b");
  page.interactions.reset();
  EXPECT_TRUE(data(page)["interactions"].is_null());
}

TEST_F(WriteSensitivityPage, SaysWhichNeighboursAreTied) {
  SensitivityPage page = page_of({{"a", 30.0}, {"b", 10.0}});
  page.tied_with_next = {false, true};
  const Json entries = data(page)["entries"];
  EXPECT_FALSE(entries[0].contains("tied_with_next"));
  EXPECT_EQ(entries[1]["tied_with_next"], true);
  page.tied_with_next.pop_back();
  EXPECT_NE(message_of(page).find("1 ties for 2 scores"), std::string::npos);
}

TEST_F(WriteSensitivityPage, KeepsTheOrderAndRanksLowestFirstWhenHigherIsBetter) {
  const Json page = data(page_of({{"a", 30.0}, {"b", 10.0}, {"c", 20.0}}));
  EXPECT_EQ(page["entries"][0]["name"], "a");
  EXPECT_EQ(ranks(page), (std::vector<Json>{3, 1, 2}));
}

TEST_F(WriteSensitivityPage, RanksHighestFirstWhenHigherIsWorse) {
  SensitivityPage page = page_of({{"a", 30.0}, {"b", 10.0}, {"c", 20.0}});
  page.higher_is_worse = true;
  EXPECT_EQ(ranks(data(page)), (std::vector<Json>{1, 3, 2}));
}

TEST_F(WriteSensitivityPage, KeepsTheOrderOfTies) {
  EXPECT_EQ(ranks(data(page_of({{"a", 5.0}, {"b", 5.0}, {"c", 5.0}}))),
            (std::vector<Json>{1, 2, 3}));
}

TEST_F(WriteSensitivityPage, GivesNanNoRankAndInfinityItsPlace) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Json page = data(page_of({{"a", std::nan("")}, {"b", infinity}, {"c", 2.0}}));
  EXPECT_EQ(ranks(page), (std::vector<Json>{nullptr, 2, 1}));
  EXPECT_EQ(page["entries"][0]["score"], "NaN");
  EXPECT_EQ(page["entries"][1]["score"], "Infinity");
}

TEST_F(WriteSensitivityPage, CarriesFactsPatternsAndDetails) {
  SensitivityPage page = page_of({{"a", 1.0}});
  page.title = "A <title>";
  page.facts = {{"Model", "net.onnx"}, {"Samples", "8"}};
  page.highlight_patterns = default_highlight_patterns();
  page.details = {"int8"};
  const Json json = data(page);
  EXPECT_NE(html(page).find("<title>A &lt;title&gt;</title>"), std::string::npos);
  EXPECT_EQ(json["facts"], Json::parse(R"([["Model", "net.onnx"], ["Samples", "8"]])"));
  EXPECT_EQ(json["patterns"],
            (Json{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}));
  EXPECT_EQ(json["details_label"], "Details");
  EXPECT_EQ(json["entries"][0]["detail"], "int8");
}

TEST_F(WriteSensitivityPage, CarriesIntervals) {
  SensitivityPage page = page_of({{"a", 1.0}, {"b", 2.0}});
  page.intervals = {{0.5, 1.5}, {1.75, std::numeric_limits<double>::infinity()}};
  const Json json = data(page);
  EXPECT_EQ(json["entries"][0]["interval"], Json::parse("[0.5, 1.5]"));
  EXPECT_EQ(json["entries"][1]["interval"], Json::parse(R"([1.75, "Infinity"])"));
}

TEST_F(WriteSensitivityPage, RefusesIntervalsOfAnotherLength) {
  SensitivityPage page = page_of({{"a", 1.0}, {"b", 2.0}});
  page.intervals = {{0.5, 1.5}};
  EXPECT_EQ(
      message_of(page),
      "report: there are 1 intervals for 2 scores; give one interval per score, or none at all");
}

TEST_F(WriteSensitivityPage, NamesCannotBreakOutOfTheDataBlock) {
  const std::string hostile = "x</script><script>alert(1)</script><!--\u2028";
  const std::string text = html(page_of({{hostile, 1.0}}));
  EXPECT_EQ(Json::parse(file_.data())["entries"][0]["name"], hostile);
  EXPECT_EQ(text.find("alert(1)<"), std::string::npos);
}

TEST_F(WriteSensitivityPage, AllowsNoNetworkAndNamesItsScriptByHash) {
  const std::string text = html(page_of({{"a", 1.0}}));
  EXPECT_NE(text.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
  EXPECT_EQ(text.find("unsafe-inline"), std::string::npos);
  EXPECT_EQ(text.find(" src=\""), std::string::npos);
}

TEST_F(WriteSensitivityPage, RefusesNoScores) {
  EXPECT_EQ(message_of(page_of({})),
            "report: there are no scores to show; give the result of a sensitivity sweep");
}

TEST_F(WriteSensitivityPage, RefusesDetailsOfAnotherLength) {
  SensitivityPage page = page_of({{"a", 1.0}, {"b", 2.0}});
  page.details = {"one"};
  EXPECT_EQ(message_of(page),
            "report: there are 1 details for 2 scores; give one text per score, or none at all");
}

}  // namespace
}  // namespace bitsweep
