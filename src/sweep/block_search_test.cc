#include "sweep/block_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace bitsweep::sweeping {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kStates = 64;
constexpr std::size_t kSamples = 24;
constexpr std::size_t kSeen = 3;

/// States whose errors (mse) add up where they are on together. The first four are the top.
struct Network {
  std::unique_ptr<MetricAccumulator> metric = make_metric("mse");
  Sensitivity sensitivity{.metric = {.accumulator = metric.get(), .better = Better::kLower},
                          .low_first = false};
  std::vector<std::vector<double>> errors;  // by state, by place
  std::vector<std::vector<std::size_t>> members;
  AnswerTable answers;
  double evaluations = 0.0;
  std::size_t quiet = 0;

  Network() : errors(kStates, std::vector<double>(kSamples, 0.01)) {
    for (std::size_t s = 0; s < 4; ++s) errors[s].assign(kSamples, 10.0);
    for (std::size_t s = 0; s < kStates; ++s) join({s});
    quiet = join({});
    for (std::size_t place = 0; place < kSamples; ++place) run({{quiet, place}});
    for (std::size_t s = 0; s < kStates; ++s) {
      for (std::size_t place = 0; place < kSeen; ++place) run({{s, place}});
    }
  }

  std::size_t join(const std::vector<std::size_t>& states) {
    members.push_back(states);
    answers.emplace_back();
    return members.size() - 1;
  }

  AnswerTable run(const std::vector<Evaluation>& asked) {
    for (const auto& [state, place] : asked) {
      double sum = 0.0;
      for (const std::size_t member : members[state]) sum += errors[member][place];
      if (answers[state].size() <= place) answers[state].resize(place + 1);
      answers[state][place] = Answer{{1.0, 0.0, sum, 1.0}};
    }
    evaluations += static_cast<double>(asked.size());
    return answers;
  }

  struct Outcome {
    std::vector<std::size_t> found;
    bool complete = false;
    double evaluations = 0.0;
  };

  /// After a first round that keeps a few open.
  Outcome search(double allowed) {
    AdaptiveStop stop({.top_fraction = 0.0625}, sensitivity, std::vector<double>(kStates, 0.5),
                      kSamples);
    stop.settle(answers, WorkBudget({.evaluations = 200.0, .passes = 200.0}));
    BlockSearch search(
        sensitivity, stop,
        {.join = [this](const std::vector<std::size_t>& states) { return join(states); },
         .run = [this](const std::vector<Evaluation>& asked) { return run(asked); },
         .cost = [](std::size_t) { return 0.5; }});
    evaluations = 0.0;
    WorkBudget budget({.evaluations = allowed, .passes = allowed});
    Outcome outcome;
    outcome.found = search.find(quiet, kSeen, kSamples, &budget);
    outcome.complete = search.complete();
    outcome.evaluations = evaluations;
    EXPECT_EQ(budget.left().evaluations, allowed - evaluations);
    return outcome;
  }
};

TEST(BlockSearch, FindsTheStateWhoseErrorSitsOnASampleThatItWasNotRunOn) {
  Network network;
  network.errors[50][17] = 200.0;
  const Network::Outcome outcome = network.search(1000.0);
  EXPECT_THAT(outcome.found, ElementsAre(50));
  EXPECT_TRUE(outcome.complete);
  EXPECT_LT(outcome.evaluations, 2 * 21 + 12.5);  // one by one: 60 on 21 samples
}

TEST(BlockSearch, FindsSeveralOnOneSampleAndOneOnSeveral) {
  Network network;
  network.errors[40][9] = network.errors[41][9] = 90.0;
  network.errors[62][5] = network.errors[62][20] = 22.0;  // either alone would not do
  EXPECT_THAT(network.search(1000.0).found, ElementsAre(40, 41, 62));
}

TEST(BlockSearch, LeavesTheRestAlone) {
  Network network;
  const Network::Outcome outcome = network.search(1000.0);
  EXPECT_THAT(outcome.found, IsEmpty());
  EXPECT_TRUE(outcome.complete);
}

TEST(BlockSearch, SaysWhenTheWorkEndsBeforeItIsThrough) {
  Network network;
  network.errors[50][17] = 200.0;
  const Network::Outcome outcome = network.search(48.0);
  EXPECT_FALSE(outcome.complete);
  EXPECT_LE(outcome.evaluations, 48.0);
  EXPECT_FALSE(network.search(5.0).complete);
}

}  // namespace
}  // namespace bitsweep::sweeping
