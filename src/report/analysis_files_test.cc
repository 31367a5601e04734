#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/testing/own_folder.h"
#include "bitsweep/analysis.h"
#include "bitsweep/error.h"

namespace bitsweep {
namespace {

class LayerValues : public ::testing::Test {
 protected:
  std::string text_of(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  const bitsweep::testing::OwnFolder own_;
  const std::filesystem::path& folder_ = own_.path();
};

TEST_F(LayerValues, KeepTheOrderGivenAndNumbersThatJsonDoesNotHave) {
  write_layer_values(folder_ / "deep", "scores", "Scores", "dB",
                     {{"second", 2.5}, {"first", std::nan("")}, {"last", HUGE_VAL}});
  EXPECT_EQ(text_of("deep/scores.json"),
            "{\n    \"second\": 2.5,\n    \"first\": \"NaN\",\n    \"last\": \"Infinity\"\n}\n");
  EXPECT_THAT(text_of("deep/scores.html"), ::testing::HasSubstr("Scores"));
}

TEST_F(LayerValues, PagesOfAFolderShareOneScriptAndOneStyleSheet) {
  write_layer_values(folder_, "first", "First", "dB", {{"a", 1.0}});
  write_layer_values(folder_, "second", "Second", "dB", {{"a", 1.0}});
  EXPECT_THAT(text_of("report.js"), ::testing::HasSubstr("Apache ECharts"));
  EXPECT_THAT(text_of("report.css"), ::testing::HasSubstr(".card"));
  for (const char* name : {"first.html", "second.html"}) {
    EXPECT_THAT(text_of(name), ::testing::HasSubstr("<script src=\"report.js\">"));
    EXPECT_LT(text_of(name).size(), 3000U);
  }
}

TEST_F(LayerValues, AFolderThatCannotBeMadeIsNamed) {
  std::ofstream(folder_ / "file") << "x";
  try {
    write_layer_values(folder_ / "file" / "deep", "scores", "Scores", "dB", {{"a", 1.0}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kIo);
    EXPECT_THAT(e.what(), ::testing::HasSubstr("cannot be made"));
  }
}

}  // namespace
}  // namespace bitsweep
