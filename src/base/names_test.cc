#include "base/closest_name.h"

#include <gtest/gtest.h>

#include <vector>

namespace bitsweep {
namespace {

const std::vector<std::string> kNames = {"input_ids", "attention_mask", "x"};

TEST(ClosestName, FindsTyposAndOtherCase) {
  EXPECT_EQ(closest_name("input_id", kNames), "input_ids");
  EXPECT_EQ(closest_name("Attention_Mask", kNames), "attention_mask");
  EXPECT_EQ(closest_name("X", kNames), "x");
}

TEST(ClosestName, GivesNothingWhenNoneIsNear) {
  EXPECT_EQ(closest_name("pixel_values", kNames), "");
  EXPECT_EQ(closest_name("input_ids", std::vector<std::string>{}), "");
}

TEST(QuotedList, ShowsTheFirstNamesAndHowManyMore) {
  EXPECT_EQ(quoted_list(kNames, 2), "\"input_ids\", \"attention_mask\" and 1 more");
  EXPECT_EQ(quoted_list(kNames), "\"input_ids\", \"attention_mask\", \"x\"");
  EXPECT_EQ(quoted_list({}), "none");
}

}  // namespace
}  // namespace bitsweep
