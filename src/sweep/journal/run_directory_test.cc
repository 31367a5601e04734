// What the run directory promises, seen through sweeps on it.
#include "sweep/journal/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>

#include "base/testing/own_folder.h"
#include "bitsweep/error.h"
#include "bitsweep/sweep.h"
#include "simulate/testing/nets.h"

namespace bitsweep {
namespace {

namespace fs = std::filesystem;
using simulate::testing::calibrate;
using simulate::testing::HeldSource;
using simulate::testing::net;
using simulate::testing::samples;
using simulate::testing::VectorSource;
using ::testing::HasSubstr;

class RunDirectory : public ::testing::Test {
 protected:
  RunDirectory() : model_(net("residual")), feeds_(samples(model_, 4)), sim_(model_) {
    calibrate(sim_, feeds_);
  }

  SweepOptions options() const { return {.num_threads = 2, .run_directory = folder_}; }
  SweepResult run(const SweepOptions& options, const std::vector<Feed>& feeds) {
    VectorSource source(feeds);
    return sweep(sim_, source, group_by_quantizer(sim_), options);
  }
  SweepResult run(const SweepOptions& options) { return run(options, feeds_); }

  Model model_;
  std::vector<Feed> feeds_;
  Simulation sim_;
  const bitsweep::testing::OwnFolder own_;
  const fs::path folder_ = own_.path();
};

void expect_same(const MetricScores& a, const MetricScores& b) {
  ASSERT_EQ(a.scores.size(), b.scores.size());
  for (std::size_t i = 0; i < a.scores.size(); ++i) {
    EXPECT_EQ(a.scores[i].name, b.scores[i].name);
    EXPECT_EQ(a.scores[i].score, b.scores[i].score);
    EXPECT_EQ(a.scores[i].per_sample, b.scores[i].per_sample);
  }
}

TEST_F(RunDirectory, SecondSweepRunsNothingAndSaysSo) {
  const SweepResult first = run(options());
  EXPECT_EQ(first.num_kept, 0);
  const SweepResult second = run(options());
  EXPECT_EQ(second.num_runs, 0);
  EXPECT_EQ(second.num_evaluations, 0);
  EXPECT_EQ(second.num_kept, first.num_evaluations);
  ASSERT_EQ(second.notes.size(), 1U);
  EXPECT_THAT(second.notes[0], HasSubstr("continued"));
  expect_same(first, second);
}

TEST_F(RunDirectory, AnotherMetricNeedsNoRunAndGivesTheScoresOfARun) {
  run(options());
  SweepOptions other = options();
  other.metric = "kl";
  const SweepResult kept = run(other);
  EXPECT_EQ(kept.num_runs, 0);
  other.run_directory.clear();
  expect_same(kept, run(other));
}

TEST_F(RunDirectory, InteractionsNeedNoRunEither) {
  run(options());
  SweepOptions other = options();
  other.interactions = true;
  const SweepResult kept = run(other);
  EXPECT_EQ(kept.num_runs, 0);
  other.run_directory.clear();
  const SweepResult fresh = run(other);
  EXPECT_EQ(kept.interactions->outputs[0].gram, fresh.interactions->outputs[0].gram);
}

TEST_F(RunDirectory, BeyondTheLimitScoresAreKeptAndOutputsAreNot) {
  SweepOptions small = options();
  small.max_kept_bytes = 400;
  const SweepResult first = run(small);
  ASSERT_EQ(first.notes.size(), 1U);
  EXPECT_THAT(first.notes[0], HasSubstr("are not kept"));
  EXPECT_EQ(run(small).num_runs, 0);
  EXPECT_LE(fs::file_size(folder_ / "outputs.bin"), 400U);
  small.metric = "mse";
  EXPECT_GT(run(small).num_runs, 0);
}

TEST_F(RunDirectory, StoppedSweepContinuesAndEndsWithTheSameScores) {
  const std::vector<Feed> many = samples(model_, 60);
  HeldSource held(many, 4);
  SweepOptions stopped = options();
  bool is_stopped = false;
  stopped.progress = [&](const SweepProgress& p) {
    if (p.done >= 3 && !std::exchange(is_stopped, true)) held.release();
    return is_stopped;
  };
  const SweepResult part = sweep(sim_, held, group_by_quantizer(sim_), stopped);
  ASSERT_FALSE(part.complete);
  const SweepResult rest = run(options(), many);
  EXPECT_GE(rest.num_kept, 3);
  EXPECT_GT(rest.num_evaluations, 0);
  SweepOptions cold = options();
  cold.run_directory.clear();
  expect_same(rest, run(cold, many));
}

TEST_F(RunDirectory, KilledProcessLosesOnlyTheStatesInFlight) {
  // The journal alone: a process with the runtime's threads cannot be forked safely.
  constexpr int kAnswers = 50;
  const pid_t child = fork();
  if (child == 0) {
    journal::RunDirectory directory(folder_, 1000);
    const Tensor value = Tensor::allocate(DataType::kFloat, {0});
    const std::vector<Tensor> outputs = {value};
    for (int i = 0; i < kAnswers; ++i) {
      directory.put("sample", "state" + std::to_string(i),
                    {.sums = {{"metric", {1.0 * i}}}, .outputs = &outputs, .reference = &outputs});
    }
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  journal::RunDirectory directory(folder_, 1000);
  const auto answers = directory.answers("sample");
  ASSERT_EQ(answers.size(), static_cast<std::size_t>(kAnswers));
  EXPECT_EQ(answers.at("state49").sums.at("metric"), std::vector<double>{49.0});
}

TEST_F(RunDirectory, ChangedEncodingSampleOrWeightIsNeverServedFromIt) {
  run(options());
  std::vector<Feed> other = feeds_;
  other[1] = samples(model_, 1, 99)[0];
  EXPECT_EQ(run(options(), other).num_kept,
            3 * static_cast<std::int64_t>(group_by_quantizer(sim_).size()));

  calibrate(sim_, {feeds_[0]});
  const SweepResult recalibrated = run(options());
  EXPECT_GT(recalibrated.num_evaluations, 0);
  EXPECT_EQ(run(options()).num_evaluations, 0);

  const std::string tensor = sim_.parameter_names()[0];
  sim_.quantizer(tensor)->set_bitwidth(4);
  sim_.quantizer(tensor)->load_encoding(
      {.format = Format::integer(4), .cells = {make_encoding(-1.0, 1.0, {.bitwidth = 4})}});
  EXPECT_EQ(run(options()).num_evaluations, 4);

  Simulation changed(net("chain"));
  calibrate(changed, samples(net("chain"), 2));
  VectorSource source(samples(net("chain"), 2));
  EXPECT_EQ(sweep(changed, source, group_by_quantizer(changed), options()).num_kept, 0);
}

TEST_F(RunDirectory, TruncatedJournalIsBegunAnewWithAWarning) {
  const SweepResult first = run(options());
  const fs::path journal = folder_ / "journal.sqlite";
  fs::resize_file(journal, fs::file_size(journal) / 2);
  const SweepResult again = run(options());
  EXPECT_EQ(again.num_kept, 0);
  ASSERT_EQ(again.notes.size(), 1U);
  EXPECT_THAT(again.notes[0], HasSubstr("is damaged"));
  expect_same(first, again);
  std::ofstream(journal, std::ios::trunc) << "this is no database at all, but a long text.......";
  EXPECT_EQ(run(options()).num_kept, 0);
}

TEST_F(RunDirectory, DamagedOutputsAreRunAgain) {
  const SweepResult first = run(options());
  const fs::path outputs = folder_ / "outputs.bin";
  fs::resize_file(outputs, fs::file_size(outputs) / 2);
  SweepOptions other = options();
  other.metric = "mse";
  const SweepResult again = run(other);
  EXPECT_GT(again.num_runs, 0);
  EXPECT_GT(again.num_kept, 0);
  other.run_directory.clear();
  expect_same(again, run(other));
}

TEST_F(RunDirectory, SecondProcessIsTold) {
  const journal::RunDirectory other(folder_, 0);
  try {
    run(options());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotReady);
    EXPECT_THAT(error.what(),
                HasSubstr("in use by another sweep (process " + std::to_string(getpid()) + ")"));
  }
}

TEST_F(RunDirectory, FullDiskCostsTheJournalAndNotTheSweep) {
  SweepOptions cold = options();
  cold.run_directory.clear();
  const SweepResult wanted = run(cold);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 80000;  // some pages of the journal fit
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::optional<SweepResult> result;
  try {
    result = run(options());
  } catch (const Error&) {
    result.reset();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(result.has_value());
  expect_same(*result, wanted);
  ASSERT_EQ(result->notes.size(), 1U);
  EXPECT_THAT(result->notes[0], HasSubstr("the sweep went on without it"));
  // What was written stays usable.
  expect_same(run(options()), wanted);
}

TEST_F(RunDirectory, FileInItsPlaceIsAnErrorWithTheReason) {
  const fs::path file = folder_ / "file";
  std::ofstream(file) << "x";
  SweepOptions wrong = options();
  wrong.run_directory = file;
  EXPECT_THROW(run(wrong), Error);
}

TEST_F(RunDirectory, PathThatCannotEvenBeLookedAtIsAnErrorWithTheReason) {
  // As in a folder that may not be entered, which does not stop root.
  constexpr std::size_t kBeyondNames = 300;
  SweepOptions wrong = options();
  wrong.run_directory = folder_ / std::string(kBeyondNames, 'x');
  EXPECT_THROW(run(wrong), Error);
}

}  // namespace
}  // namespace bitsweep
