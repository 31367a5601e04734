// Adaptive sweeps of whole networks: the same answers whatever the threads, and after a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "bitsweep/error.h"
#include "bitsweep/sweep.h"
#include "simulate/testing/nets.h"

namespace bitsweep {
namespace {

using simulate::testing::calibrate;
using simulate::testing::net;
using simulate::testing::samples;
using simulate::testing::VectorSource;

/// Fails after so many samples, as if the process died there.
class CrashingSource : public VectorSource {
 public:
  CrashingSource(std::vector<Feed> feeds, int num_good)
      : VectorSource(std::move(feeds)), num_left_(num_good) {}
  bool next(Feed* feed) override {
    if (num_left_-- <= 0) throw std::runtime_error("crash");
    return VectorSource::next(feed);
  }

 private:
  int num_left_;
};

/// Has fewer samples each time it is read again.
class DwindlingSource : public VectorSource {
 public:
  explicit DwindlingSource(std::vector<Feed> feeds)
      : VectorSource(std::move(feeds)), num_samples_(static_cast<int>(VectorSource::size())) {}
  bool next(Feed* feed) override { return num_read_++ < num_samples_ && VectorSource::next(feed); }
  void rewind() override {
    VectorSource::rewind();
    num_samples_ -= std::exchange(num_read_, 0) > 0 ? 8 : 0;
  }

 private:
  int num_samples_;
  int num_read_ = 0;
};

class AdaptiveSweeps : public ::testing::Test {
 protected:
  AdaptiveSweeps() : model_(net("residual")), feeds_(samples(model_, 24)), sim_(model_) {
    calibrate(sim_, {feeds_[0], feeds_[1]});
    // One sample that nothing in the others announces.
    for (auto& [name, tensor] : feeds_[17]) {
      for (float& value : tensor.mutable_floats()) value *= 20.0F;
    }
  }

  SweepResult run(SampleSource& source, int num_threads,
                  const std::filesystem::path& directory = {}) {
    return sweep(sim_, source, group_by_quantizer(sim_),
                 {.num_threads = num_threads,
                  .until_stable = AdaptiveOptions{.top_fraction = 0.2},
                  .run_directory = directory});
  }
  SweepResult run(int num_threads, const std::filesystem::path& directory = {}) {
    VectorSource source(feeds_);
    return run(source, num_threads, directory);
  }

  static void expect_same(const SweepResult& got, const SweepResult& wanted) {
    EXPECT_EQ(got.stability->selected, wanted.stability->selected);
    EXPECT_EQ(got.stability->confidence, wanted.stability->confidence);
    EXPECT_EQ(got.stability->settled, wanted.stability->settled);
    EXPECT_EQ(got.stability->num_evaluations, wanted.stability->num_evaluations);
    ASSERT_EQ(got.scores.size(), wanted.scores.size());
    for (std::size_t i = 0; i < got.scores.size(); ++i) {
      EXPECT_EQ(got.scores[i].name, wanted.scores[i].name);
      EXPECT_EQ(got.scores[i].score, wanted.scores[i].score);
      EXPECT_EQ(got.scores[i].per_sample, wanted.scores[i].per_sample);
    }
  }

  Model model_;
  std::vector<Feed> feeds_;
  Simulation sim_;
};

TEST_F(AdaptiveSweeps, AreTheSameBitsForAnyNumberOfThreads) {
  const SweepResult one = run(1);
  expect_same(run(2), one);
  expect_same(run(3), one);
}

TEST_F(AdaptiveSweeps, SayThatTheSamplesBecameFewer) {
  DwindlingSource source(feeds_);
  EXPECT_THAT([&] { run(source, 2); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("were fewer")));
}

TEST_F(AdaptiveSweeps, GoOnAfterACrashAndEndAsIfItHadNotBeen) {
  const SweepResult wanted = run(2);
  // Among the pilots, on the first samples of all groups, among the blocks, and near the end.
  for (const int num_read : {10, 30, 60, 80}) {
    const std::filesystem::path directory =
        std::filesystem::temp_directory_path() /
        ("bitsweep_adaptive_" + std::to_string(getpid()) + "_" + std::to_string(num_read));
    CrashingSource source(feeds_, num_read);
    EXPECT_THROW(run(source, 2, directory), std::runtime_error) << num_read;
    const SweepResult resumed = run(2, directory);
    expect_same(resumed, wanted);
    EXPECT_GT(resumed.num_kept, 0) << num_read;
    EXPECT_EQ(resumed.num_kept + resumed.num_evaluations, wanted.num_evaluations) << num_read;
    // Nothing is left to run, blocks included.
    EXPECT_EQ(run(1, directory).num_evaluations, 0) << num_read;
    std::filesystem::remove_all(directory);
  }
}

}  // namespace
}  // namespace bitsweep
