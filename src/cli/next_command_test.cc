#include "next_command.h"

#include <gmock/gmock.h>

namespace bitsweep::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(NextMix, KeepsRulesAndRangesThatAreNotTheUsualOnes) {
  const std::string usual = next_mix({.model = "m.onnx", .data = "d.npz"});
  EXPECT_THAT(usual, HasSubstr("mix m.onnx --data d.npz --candidates"));
  EXPECT_THAT(usual, Not(HasSubstr("--rules")));
  const std::string other = next_mix({.model = "m.onnx",
                                      .data = "d.npz",
                                      .calibration_data = "c.npz",
                                      .outputs = {"logits"},
                                      .rules = "htp_v81"});
  EXPECT_THAT(other, HasSubstr("--outputs logits"));
  EXPECT_THAT(other, HasSubstr("--calibration-data c.npz"));
  EXPECT_THAT(other, HasSubstr("--rules htp_v81"));
}

TEST(ShellLine, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(shell_line({"mix", "a b.onnx", "--target", "sqnr>=30", "it's"}),
            "mix 'a b.onnx' --target 'sqnr>=30' 'it'\\''s'");
}

}  // namespace
}  // namespace bitsweep::cli
