#include "allocate/mix/correction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "allocate/mix/quality.h"

namespace bitsweep {
namespace {

using allocate::kMaxDb;

constexpr std::size_t kGroups = 12;

/// Two choices by group; the changes of the outputs share a direction.
BudgetProblem problem() {
  std::mt19937_64 random(7);
  BudgetProblem result;
  std::vector<double> along;
  for (std::size_t g = 0; g < kGroups; ++g) {
    const double loss = 1e-3 * static_cast<double>(1 + random() % 20);
    result.loss.push_back({loss / 50.0, loss});
    for (const double l : result.loss.back()) along.push_back(std::sqrt(0.6 * l));
  }
  const std::size_t n = along.size();
  result.interactions.assign(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (i / 2 != j / 2) result.interactions[i * n + j] = along[i] * along[j];
    }
  }
  return result;
}

std::vector<std::vector<int>> mixes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<int>> result(count);
  for (auto& choices : result) {
    for (std::size_t g = 0; g < kGroups; ++g) choices.push_back(static_cast<int>(random() % 2));
  }
  return result;
}

std::vector<MeasuredMix> measured(const BudgetProblem& truth, std::size_t count) {
  std::vector<MeasuredMix> result;
  for (const auto& choices : mixes(count, 1))
    result.push_back({choices, allocate::db_of(loss_of(truth, choices)), {}});
  return result;
}

/// Largest error in dB of mixes that were not measured.
double error_db(const BudgetProblem& predicted, const BudgetProblem& truth) {
  double largest = 0.0;
  for (const auto& choices : mixes(40, 2)) {
    largest = std::max(largest, std::abs(allocate::db_of(loss_of(predicted, choices)) -
                                         allocate::db_of(loss_of(truth, choices))));
  }
  return largest;
}

TEST(CorrectedProblem, KeepsInteractionsThatHoldInWholeConfigurations) {
  const BudgetProblem truth = problem();
  const BudgetProblem corrected = corrected_problem(truth, measured(truth, 16));
  EXPECT_LT(error_db(corrected, truth), 0.05);
  EXPECT_FALSE(corrected.interactions.empty());
}

TEST(CorrectedProblem, GivesUpInteractionsThatDoNotHold) {
  BudgetProblem truth = problem();
  truth.interactions.clear();
  ASSERT_GT(error_db(problem(), truth), 2.0);
  EXPECT_LT(error_db(corrected_problem(problem(), measured(truth, 16)), truth), 0.05);
}

TEST(CorrectedProblem, LearnsWhichChoicesLoseLessThanTheyDidAlone) {
  BudgetProblem truth = problem();
  truth.interactions.clear();
  const BudgetProblem start = truth;
  for (std::size_t g = 0; g < kGroups; ++g) {
    if (start.loss[g][1] > 0.012) truth.loss[g][1] /= 4.0;
  }
  const double before = error_db(start, truth);
  EXPECT_LT(error_db(corrected_problem(start, measured(truth, 24)), truth), before / 3.0);
}

TEST(CorrectedProblem, LearnsThatErrorsInOneDirectionSaturate) {
  BudgetProblem start = problem();
  const std::size_t n = start.num_choices();
  for (std::size_t i = 0; i < n; ++i) {  // every second group goes its own way
    for (std::size_t j = 0; j < n; ++j) {
      if (i / 2 % 2 == 0 || j / 2 % 2 == 0) start.interactions[i * n + j] = 0.0;
    }
  }
  BudgetProblem truth = start;
  for (double& value : truth.interactions) value *= -0.25;
  BudgetProblem alone = start;
  alone.interactions.clear();
  const std::vector<MeasuredMix> runs = measured(truth, 16);
  const BudgetProblem corrected = corrected_problem(start, runs);
  EXPECT_LT(error_db(corrected, truth), error_db(corrected_problem(alone, runs), truth) / 1.5);
  for (const auto& losses : corrected.loss) {
    for (const double loss : losses) EXPECT_GE(loss, 0.0);
  }
}

TEST(CorrectedProblem, IsNotMovedByConfigurationsWithoutFiniteOutputs) {
  BudgetProblem truth = problem();
  std::vector<MeasuredMix> runs = measured(truth, 16);
  runs.push_back({mixes(1, 3).front(), -kMaxDb, {}});
  EXPECT_LT(error_db(corrected_problem(truth, runs), truth), 0.05);
  const BudgetProblem same = corrected_problem(truth, {runs.back()});
  EXPECT_EQ(same.loss, truth.loss);
}

}  // namespace
}  // namespace bitsweep
