#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bitsweep/error.h"
#include "bitsweep/report.h"
#include "report/testing/test_page.h"

namespace bitsweep {
namespace {

TEST(WriteLinesPage, KeepsTheOrderGiven) {
  const report::TestPage file;
  LinesPage page;
  page.values = {{"conv2", 0.5}, {"conv1", -0.25}, {"broken", std::nan("")}};
  page.facts = {{"Model", "net.onnx"}};
  write_lines_page(page, file.path());
  const auto data = nlohmann::json::parse(file.data());
  EXPECT_EQ(data["page"], "lines");
  EXPECT_EQ(data["title"], "Score by Layer");
  EXPECT_EQ(data["facts"], nlohmann::json::parse(R"([["Model", "net.onnx"]])"));
  EXPECT_EQ(
      data["entries"],
      nlohmann::json::parse(R"([{"name": "conv2", "value": 0.5}, {"name": "conv1", "value": -0.25},
                                      {"name": "broken", "value": "NaN"}])"));
}

TEST(WriteLinesPage, RefusesNoValues) {
  try {
    write_lines_page({}, report::TestPage().path());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "report: there are no values to show; give the result of an analysis");
  }
}

}  // namespace
}  // namespace bitsweep
