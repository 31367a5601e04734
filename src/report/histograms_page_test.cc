#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bitsweep/error.h"
#include "bitsweep/report.h"
#include "report/testing/test_page.h"

namespace bitsweep {
namespace {

HistogramsPage two_channels() {
  HistogramsPage page;
  page.histograms = {{"conv.weight[0]", -1.0, 0.5, {0.25, 0.5, 0.25}, -1.0, 0.5},
                     {"conv.weight[1]", 0.0, 0.125, {1.0}, 0.0, 0.125}};
  return page;
}

std::string message_of(const HistogramsPage& page) {
  try {
    write_histograms_page(page, report::TestPage().path());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "no error";
}

TEST(WriteHistogramsPage, CarriesBucketsAndEncodings) {
  const report::TestPage file;
  write_histograms_page(two_channels(), file.path());
  const auto data = nlohmann::json::parse(file.data());
  EXPECT_EQ(data["page"], "histograms");
  EXPECT_EQ(data["title"], "Histogram of conv.weight[0]");
  EXPECT_EQ(data["histograms"].size(), 2);
  EXPECT_EQ(data["histograms"][0],
            nlohmann::json::parse(R"({"name": "conv.weight[0]", "begin": -1.0, "width": 0.5,
      "probabilities": [0.25, 0.5, 0.25], "encoding_min": -1.0, "encoding_max": 0.5})"));
}

TEST(WriteHistogramsPage, RefusesNoHistograms) {
  EXPECT_EQ(
      message_of({}),
      "report: there are no histograms to show; calibrate with a scheme that keeps histograms");
}

TEST(WriteHistogramsPage, RefusesAHistogramWithoutBuckets) {
  HistogramsPage page = two_channels();
  page.histograms[1].probabilities.clear();
  EXPECT_EQ(message_of(page),
            "report: the histogram of \"conv.weight[1]\" has no buckets; give at least one, with a "
            "positive width");
  page = two_channels();
  page.histograms[0].width = 0.0;
  EXPECT_NE(message_of(page).find("conv.weight[0]"), std::string::npos);
}

}  // namespace
}  // namespace bitsweep
