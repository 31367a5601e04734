#include "bitsweep/names.h"

#include <gtest/gtest.h>

#include <vector>

namespace bitsweep {
namespace {

const std::vector<std::string> kNames = {"input_ids", "attention_mask", "x"};

TEST(ClosestName, FindsTyposAndOtherCase) {
  EXPECT_EQ(closest_name("input_id", kNames), "input_ids");
  EXPECT_EQ(closest_name("Attention_Mask", kNames), "attention_mask");
  EXPECT_EQ(closest_name("X", kNames), "x");
  EXPECT_EQ(closest_name("sqrn", std::vector<std::string>{"kl", "sqnr"}), "sqnr");
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

TEST(UnknownName, SuggestsTheClosestAndListsAll) {
  EXPECT_STREQ(unknown_name("data", "input", "imput_ids", kNames).what(),
               "data: no input is named \"imput_ids\"; did you mean \"input_ids\"? use one of: "
               "input_ids, attention_mask, x");
  EXPECT_EQ(unknown_name("data", "input", "pixels", kNames).fix(),
            "use one of: input_ids, attention_mask, x");
}

}  // namespace
}  // namespace bitsweep
