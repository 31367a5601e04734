#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "bitsweep/error.h"
#include "bitsweep/report.h"
#include "report/testing/test_page.h"

namespace bitsweep {
namespace {

using report::TestPage;

RangesPage two_ranges() {
  RangesPage page;
  page.kind = "weight";
  page.entries = {{"a", -1.5, 2.0}, {"b", -7e4, std::numeric_limits<double>::infinity()}};
  return page;
}

std::string message_of(const RangesPage& page) {
  try {
    write_ranges_page(page, TestPage().path());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "no error";
}

TEST(WriteRangesPage, KeepsTheOrderAndCarriesLimitsAndThresholds) {
  const TestPage file;
  write_ranges_page(two_ranges(), file.path());
  const nlohmann::json data = nlohmann::json::parse(file.data());
  EXPECT_EQ(data["page"], "ranges");
  EXPECT_EQ(data["title"], "Quantizer ranges (weights)");
  EXPECT_EQ(data["kind"], "weight");
  EXPECT_EQ(data["display_limits"], nlohmann::json::parse("[-1e5, 1e5]"));
  EXPECT_EQ(data["thresholds"], nlohmann::json::parse("[-5e4, 5e4]"));
  EXPECT_EQ(data["entries"], nlohmann::json::parse(R"([{"name": "a", "min": -1.5, "max": 2.0},
                                                       {"name": "b", "min": -7e4, "max": "Infinity"}])"));
}

TEST(WriteRangesPage, RefusesNoEntries) {
  EXPECT_EQ(message_of({}),
            "report: there are no ranges to show; calibrate the simulation first and leave a "
            "quantizer enabled");
}

TEST(WriteRangesPage, RefusesBoundsThatCross) {
  RangesPage page = two_ranges();
  page.threshold_min = page.threshold_max;
  EXPECT_EQ(message_of(page),
            "report: the lower threshold is not below the upper one; swap or change the two");
  page = two_ranges();
  page.display_max = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(message_of(page),
            "report: the lower display limit is not below the upper one; swap or change the two");
}

}  // namespace
}  // namespace bitsweep
