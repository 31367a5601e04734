#include "progress.h"

#include <gmock/gmock.h>

#include <array>
#include <nlohmann/json.hpp>

#include "bitsweep/error.h"

namespace bitsweep::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

SweepProgress at(std::int64_t done, std::int64_t total, double elapsed_s) {
  SweepProgress progress;
  progress.done = done;
  progress.total = total;
  progress.elapsed_s = elapsed_s;
  return progress;
}

class Progress : public ::testing::Test {
 protected:
  void TearDown() override { std::fclose(file_); }
  std::string shown() {
    std::string text(static_cast<std::size_t>(std::ftell(file_)), '\0');
    EXPECT_EQ(std::fseek(file_, 0, SEEK_SET), 0);
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), file_), text.size());
    return text;
  }
  std::FILE* file_ = std::tmpfile();
};

TEST_F(Progress, TextShowsDoneShareRateTimeLeftAndWorst) {
  ProgressReporter reporter(ProgressStyle::kLines, file_);
  reporter.begin("sweep", "evaluations", "dB");
  SweepProgress progress = at(50, 200, 10.0);
  progress.remaining_s = 30.0;
  progress.worst = "conv1.weight";
  progress.worst_score = 12.345;
  EXPECT_EQ(reporter.text(progress),
            "sweep: 50 of 200 evaluations, 25%, 5/s, 30 s left, worst: conv1.weight at 12.35 dB");
  EXPECT_EQ(reporter.text(at(200, 200, 40.0)),
            "sweep: 200 of 200 evaluations, 100%, 5/s, took 40 s");
  EXPECT_EQ(reporter.text(at(7, -1, 2.0)), "sweep: 7 evaluations, 3.5/s");
  EXPECT_EQ(reporter.text(at(0, 8, 2.0)), "sweep: 0 of 8 evaluations, 0%, preparing for 2.0 s");
  EXPECT_EQ(reporter.text(at(1, 8, 1e-5)), "sweep: 1 of 8 evaluations, 12%") << "100000/s?";
}

TEST_F(Progress, RateIsThatOfTheEvaluationsAndNotOfThePreparation) {
  const ProgressReporter reporter(ProgressStyle::kLines, file_);
  SweepProgress progress = at(20, 50, 110.0);
  progress.remaining_s = 15.0;
  EXPECT_THAT(reporter.text(progress), HasSubstr("40%, 2/s, 15 s left"));
}

TEST_F(Progress, LinesComeEveryFewSecondsAndAtTheEnd) {
  ProgressReporter reporter(ProgressStyle::kAuto, file_);  // a file is no terminal
  reporter.begin("sweep", "evaluations", "dB");
  for (std::int64_t i = 1; i <= 12; ++i) reporter.update(at(i, 12, static_cast<double>(i)));
  reporter.end();
  EXPECT_EQ(shown(),
            "sweep: 5 of 12 evaluations, 41%, 1/s\n"
            "sweep: 10 of 12 evaluations, 83%, 1/s\n"
            "sweep: 12 of 12 evaluations, 100%, 1/s, took 12 s\n");
}

TEST_F(Progress, BarIsDrawnOverItselfAndFitsTheWidth) {
  ProgressReporter reporter(ProgressStyle::kBar, file_);
  reporter.begin("sweep", "evaluations", "dB");
  SweepProgress progress = at(1, 2, 1.0);
  progress.worst = std::string(300, 'w');
  reporter.update(progress);
  reporter.update(at(2, 2, 2.0));
  reporter.end();
  const std::string text = shown();
  EXPECT_THAT(text, HasSubstr("\r\x1b[K[##########..........] sweep: 1 of 2"));
  EXPECT_THAT(text, Not(HasSubstr(std::string(100, 'w'))));
  EXPECT_EQ(text.back(), '\n');
}

TEST_F(Progress, JsonGivesOneObjectPerLine) {
  ProgressReporter reporter(ProgressStyle::kJson, file_);
  reporter.begin("sweep", "evaluations", "dB");
  SweepProgress progress = at(1, 3, 0.5);
  progress.worst = "a \"quoted\" name";
  progress.worst_score = 3.0;
  reporter.update(progress);
  reporter.update(at(3, 3, 0.6));
  const std::string text = shown();
  const auto first = nlohmann::json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(first["phase"], "sweep");
  EXPECT_EQ(first["done"], 1);
  EXPECT_DOUBLE_EQ(first["rate_per_s"].get<double>(), 2.0);
  EXPECT_TRUE(first["remaining_s"].is_null());
  EXPECT_EQ(first["worst"], "a \"quoted\" name");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST_F(Progress, NoneShowsNothing) {
  ProgressReporter reporter(ProgressStyle::kNone, file_);
  reporter.begin("sweep", "evaluations", "dB");
  reporter.update(at(2, 2, 100.0));
  reporter.end();
  EXPECT_EQ(shown(), "");
}

TEST(ProgressStyles, UnknownNameListsTheKnownOnes) {
  EXPECT_EQ(parse_progress_style("json"), ProgressStyle::kJson);
  try {
    parse_progress_style("loud");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "options: no progress style is named \"loud\"; use one of: auto, bar, lines, json, none");
  }
}

}  // namespace
}  // namespace bitsweep::cli
