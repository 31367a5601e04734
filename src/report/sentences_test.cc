#include "report/sentences.h"

#include <gmock/gmock.h>

namespace bitsweep::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SweepResult swept(std::size_t count) {
  SweepResult result;
  result.metric = "sqnr";
  result.unit = "dB";
  for (std::size_t i = 0; i < count; ++i)
    result.scores.push_back({.name = "t" + std::to_string(i), .score = static_cast<double>(i)});
  return result;
}

TEST(SweepSentences, NameTheWorstAndWhereTheyLie) {
  const SweepResult result = swept(30);
  std::vector<std::size_t> backwards;  // the worst at the end of the network
  for (std::size_t i = 30; i-- > 0;) backwards.push_back(i);
  EXPECT_THAT(
      sweep_sentences(result, std::vector<GroupDetail>(30), backwards),
      ElementsAre("Most sensitive: t0 at 0.00 dB, then t1 at 1.00 dB and t2 at 2.00 dB; the median "
                  "of 30 scores is 15.00 dB.",
                  "Of the 20 most sensitive, 0 lie in the first third of the network, 10 in the "
                  "second and 10 in the last."));
}

TEST(SweepSentences, LeaveOutTensorsThatShareAQuantizer) {
  std::vector<GroupDetail> details(3);
  details[1].repeats = true;
  EXPECT_THAT(sweep_sentences(swept(3), details, {0, 1, 2}).front(), HasSubstr("then t2 at"));
}

TEST(MissedOnTest, SaysByHowMuchAndWhatToDo) {
  MixResult result;
  result.test_db = 9.81;
  const MixTarget quality{.name = "sqnr", .at_least = true, .value = 25.0};
  EXPECT_THAT(missed_on_test(result, {quality}), HasSubstr("15.19 dB less than asked for"));
  result.test_db = 24.996;
  EXPECT_THAT(missed_on_test(result, {quality}), IsEmpty());
  EXPECT_THAT(missed_on_test(result, {{.name = "bops", .at_least = false, .value = 25.0}}),
              IsEmpty());
}

}  // namespace
}  // namespace bitsweep::report
