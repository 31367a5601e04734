#include "bitsweep/score_journal.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/testing/own_folder.h"
#include "bitsweep/error.h"
#include "simulate/testing/nets.h"

namespace bitsweep {
namespace {

namespace fs = std::filesystem;
using simulate::testing::calibrate;
using simulate::testing::net;
using simulate::testing::samples;

class ScoreJournalTest : public ::testing::Test {
 protected:
  ScoreJournalTest() : sim_(net("residual")) {
    calibrate(sim_, samples(sim_.model(), 2));
    first_ = {sim_.parameter_names().front()};
    second_ = {sim_.parameter_names().back()};
  }

  std::optional<double> found(const std::string& identity, bool reuse = true) {
    return ScoreJournal(sim_, folder_, identity, reuse).find(first_);
  }

  Simulation sim_;
  const bitsweep::testing::OwnFolder own_;
  const fs::path folder_ = own_.path();
  std::vector<std::string> first_;
  std::vector<std::string> second_;
};

TEST_F(ScoreJournalTest, FindsAScoreAgainForTheSameStateAndFunctionOnly) {
  ScoreJournal(sim_, folder_, "accuracy", true).put(first_, 0.75);
  EXPECT_EQ(found("accuracy"), 0.75);
  EXPECT_EQ(ScoreJournal(sim_, folder_, "accuracy", true).find(second_), std::nullopt);
  EXPECT_EQ(found("another function"), std::nullopt);
  EXPECT_EQ(found("accuracy", false), std::nullopt);
}

TEST_F(ScoreJournalTest, ChangedEncodingIsAnotherState) {
  ScoreJournal(sim_, folder_, "accuracy", true).put(first_, 0.75);
  sim_.quantizer(first_.front())->set_bitwidth(4);
  sim_.quantizer(first_.front())
      ->load_encoding(
          {.format = Format::integer(4), .cells = {make_encoding(-1.0, 1.0, {.bitwidth = 4})}});
  EXPECT_EQ(found("accuracy"), std::nullopt);
}

TEST_F(ScoreJournalTest, SecondOneOnTheFolderIsTold) {
  ScoreJournal first(sim_, folder_, "accuracy", true);
  EXPECT_THROW(ScoreJournal(sim_, folder_, "accuracy", true), Error);
  first.close();
  EXPECT_NO_THROW(ScoreJournal(sim_, folder_, "accuracy", true));
  EXPECT_THROW(first.put(first_, 1.0), Error);
}

}  // namespace
}  // namespace bitsweep
