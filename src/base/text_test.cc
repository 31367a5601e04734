#include "bitsweep/text.h"

#include <gtest/gtest.h>

namespace bitsweep {
namespace {

TEST(Text, ScoresCarryTheirUnit) {
  EXPECT_EQ(score_text(23.4567, "dB"), "23.46 dB");
  EXPECT_EQ(score_text(0.98765, ""), "0.9877");
  EXPECT_EQ(score_text(1.5e-7, "nats"), "1.5e-07 nats");
}

TEST(Text, OneOfAThingIsNoPlural) {
  EXPECT_EQ(plural(1, "run"), "1 run");
  EXPECT_EQ(plural(2, "run"), "2 runs");
}

}  // namespace
}  // namespace bitsweep
