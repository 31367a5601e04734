#include "report/escape.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace bitsweep::report {
namespace {

TEST(EscapeJsonForScript, LeavesNothingThatCouldEndTheElement) {
  const std::string hostile = "a</script><!--\u2028b\u2029&\"\\c\u00e9";
  const std::string text = escape_json_for_script(nlohmann::json(hostile).dump());
  for (const char* bad : {"<", ">", "&", "\u2028", "\u2029"})
    EXPECT_EQ(text.find(bad), std::string::npos) << bad;
  EXPECT_EQ(nlohmann::json::parse(text), hostile);
}

TEST(EscapeJsonForScript, KeepsOtherThreeByteCharacters) {
  const std::string text = "\"\u20ac\u2027\"";
  EXPECT_EQ(escape_json_for_script(text), text);
}

TEST(EscapeHtml, EscapesMarkup) {
  EXPECT_EQ(escape_html("<b> & \"q\""), "&lt;b&gt; &amp; &quot;q&quot;");
}

TEST(NonFiniteName, NamesWhatJsonLacks) {
  EXPECT_EQ(non_finite_name(std::nan("")), "NaN");
  EXPECT_EQ(non_finite_name(std::numeric_limits<double>::infinity()), "Infinity");
  EXPECT_EQ(non_finite_name(-std::numeric_limits<double>::infinity()), "-Infinity");
  EXPECT_EQ(non_finite_name(-1e308), "");
}

}  // namespace
}  // namespace bitsweep::report
