#include "sweep/pilot_misses.h"

#include <gtest/gtest.h>

#include <random>

namespace bitsweep::sweeping {
namespace {

constexpr std::size_t kNumSamples = 64;
constexpr std::size_t kNumSeen = 12;

/// Share of estimates within so many standard deviations, for a pilot with these squared errors.
double coverage(const std::vector<double>& errors, double gap) {
  SampleSums pilot;
  for (const double error : errors) pilot.push_back({1.0, 0.0, error, 1.0});
  const auto metric = make_metric("mse");
  // An order without heavy samples, whatever the pilot.
  const SampleOrder order(*metric, {SampleSums(kNumSamples, {1.0, 0.0, 1.0, 1.0})}, 0);
  return PilotMisses(*metric, {pilot}, order, 1).coverage(kNumSeen, gap);
}

TEST(PilotMisses, AreFewBeyondThreeSpreadsWhereErrorsAreAlike) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> error(0.5, 1.5);
  std::vector<double> errors;
  for (std::size_t i = 0; i < kNumSamples; ++i) errors.push_back(error(random));
  EXPECT_GE(coverage(errors, 4.0), 0.95);
  EXPECT_LE(coverage(errors, 0.1), 0.4);
}

TEST(PilotMisses, AreManyWhereASampleThatWasNotSeenCarriesTheError) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < kNumSamples; ++i)
    errors.push_back(i == 7 ? 100.0 : i % 3 == 0 ? 1.0 : 2.0);
  // A fifth of the orders show the sample.
  EXPECT_LE(coverage(errors, 3.0), 0.5);
}

TEST(PilotMisses, AreNoneWhereEverySampleSaysTheSame) {
  EXPECT_EQ(coverage(std::vector<double>(kNumSamples, 2.0), 1.0), 1.0);
}

}  // namespace
}  // namespace bitsweep::sweeping
