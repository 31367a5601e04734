#include "bitsweep/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>

#include "bitsweep/error.h"

namespace bitsweep {
namespace {

using ::testing::HasSubstr;

/// Choices with falling loss and rising cost, as bit-widths have.
BudgetProblem random_problem(unsigned seed, int num_groups, int num_choices, bool interacting) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0.1, 1.0);
  BudgetProblem problem;
  CostTable bops{.name = "bops", .rows = {{.constant = 0.5, .by_choice = {}}}, .pairs = {}};
  CostTable bytes{.name = "bytes", .rows = {{.constant = 0.0, .by_choice = {}}}, .pairs = {}};
  for (int g = 0; g < num_groups; ++g) {
    const double size = uniform(random);
    const double harm = std::pow(10.0, 2.0 * uniform(random) - 2.0);
    std::vector<double> loss;
    std::vector<double> cost;
    std::vector<double> weight;
    for (int c = 0; c < num_choices; ++c) {
      loss.push_back(harm * std::pow(4.0, -c) * uniform(random));
      cost.push_back(size * (c + 1) * (0.9 + 0.2 * uniform(random)));
      weight.push_back(uniform(random) * (c + 1));
    }
    problem.loss.push_back(loss);
    bops.rows[0].by_choice.push_back(cost);
    bytes.rows[0].by_choice.push_back(weight);
  }
  problem.costs = {bops, bytes};
  if (!interacting) return problem;
  // Gram matrix of random changes of a few outputs, with the losses as its diagonal.
  const std::size_t n = problem.num_choices();
  constexpr std::size_t kOutputs = 40;
  std::normal_distribution<double> normal;
  std::vector<double> changes(n * kOutputs);
  for (double& v : changes) v = normal(random);
  problem.interactions.assign(n * n, 0.0);
  std::vector<double> scale;
  for (const auto& group : problem.loss) {
    for (const double loss : group) scale.push_back(std::sqrt(loss));
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (i == j) continue;
      double sum = 0.0;
      for (std::size_t k = 0; k < kOutputs; ++k)
        sum += changes[i * kOutputs + k] * changes[j * kOutputs + k];
      problem.interactions[i * n + j] = scale[i] * scale[j] * sum / kOutputs;
    }
  }
  return problem;
}

BudgetOptions without_proof() {
  BudgetOptions options;
  options.prove = false;
  return options;
}

/// The best of all configurations, by trying each.
std::optional<std::vector<int>> try_all(const BudgetProblem& problem,
                                        const std::vector<CostLimit>& limits) {
  std::vector<int> x(problem.loss.size(), 0);
  std::optional<std::vector<int>> best;
  while (true) {
    bool fits = true;
    for (const CostLimit& l : limits)
      fits = fits && cost_of(problem.costs[static_cast<std::size_t>(l.cost)], x) <= l.at_most;
    if (fits && (!best || loss_of(problem, x) < loss_of(problem, *best))) best = x;
    std::size_t g = 0;
    while (g < x.size() && ++x[g] == static_cast<int>(problem.loss[g].size())) x[g++] = 0;
    if (g == x.size()) return best;
  }
}

double middle(const BudgetProblem& problem, std::size_t cost, double share) {
  const std::vector<int> low(problem.loss.size(), 0);
  const std::vector<int> high(problem.loss.size(), static_cast<int>(problem.loss[0].size()) - 1);
  return (1.0 - share) * cost_of(problem.costs[cost], low) +
         share * cost_of(problem.costs[cost], high);
}

TEST(LeastLoss, IsTheOptimumOfAllConfigurationsWhereHighsProvesIt) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const BudgetProblem problem = random_problem(seed, 7, 3, false);
    const std::vector<CostLimit> limits{{0, middle(problem, 0, 0.4)}, {1, middle(problem, 1, 0.7)}};
    const auto best = try_all(problem, limits);
    const BudgetSolution found = least_loss(problem, limits);
    ASSERT_EQ(found.feasible(), best.has_value()) << "seed " << seed;
    if (!best) continue;
    if (!found.optimal) GTEST_SKIP() << "HiGHS is not installed";
    EXPECT_LE(found.loss, loss_of(problem, *best) * 1.0002) << "seed " << seed;
    EXPECT_LE(*found.bound, loss_of(problem, *best) * 1.0002) << "seed " << seed;
  }
}

TEST(LeastLoss, BoundsHoldAndAnswersAreNearTheOptimumWithoutHighs) {
  for (const bool interacting : {false, true}) {
    double found_loss = 0.0;
    double best_loss = 0.0;
    for (unsigned seed = 0; seed < 20; ++seed) {
      const BudgetProblem problem = random_problem(seed, 7, 3, interacting);
      const std::vector<CostLimit> limits{{0, middle(problem, 0, 0.4)}};
      const double best = loss_of(problem, *try_all(problem, limits));
      const BudgetSolution found = least_loss(problem, limits, without_proof());
      ASSERT_TRUE(found.feasible());
      ASSERT_TRUE(found.bound.has_value());
      EXPECT_LE(*found.bound, best * (1.0 + 1e-9)) << "seed " << seed;
      EXPECT_GT(*found.bound, 0.0) << "a Gram matrix is convex as it is";
      EXPECT_GE(found.loss, best * (1.0 - 1e-9)) << "seed " << seed;
      EXPECT_LE(found.costs[0], limits[0].at_most * (1.0 + 1e-8));
      found_loss += found.loss;
      best_loss += best;
    }
    EXPECT_LT(found_loss, best_loss * 1.05) << (interacting ? "interacting" : "additive");
  }
}

TEST(LeastLoss, GapIsSmallForManyGroups) {
  const BudgetProblem problem = random_problem(1, 300, 4, false);
  const BudgetSolution found = least_loss(problem, {{0, middle(problem, 0, 0.5)}}, without_proof());
  ASSERT_TRUE(found.bound.has_value());
  EXPECT_LT(found.loss - *found.bound, 0.01 * found.loss);
}

TEST(LeastLoss, BoundOfInteractingLossesComesNearWhereNothingIsProven) {
  for (unsigned seed = 0; seed < 3; ++seed) {
    const BudgetProblem problem = random_problem(seed, 8, 3, true);
    const std::vector<CostLimit> limits{{0, middle(problem, 0, 0.4)}};
    BudgetOptions relaxed_once;
    relaxed_once.max_relaxations = 1;
    BudgetOptions split;
    split.max_relaxations = 1000;
    const BudgetSolution first = least_loss(problem, limits, relaxed_once);
    const BudgetSolution found = least_loss(problem, limits, split);
    EXPECT_GE(found.bound.value(), first.bound.value());
    EXPECT_LE(found.loss - *found.bound, (split.interacting_gap + 1e-9) * found.loss)
        << "seed " << seed;
    EXPECT_LE(*found.bound, loss_of(problem, *try_all(problem, limits)) * (1.0 + 1e-9));
  }
}

TEST(LeastLoss, EndsWhereInteractionsOrLossesAreNothing) {
  for (const double factor : {1.0, 0.0}) {
    BudgetProblem problem = random_problem(3, 8, 3, true);
    for (double& value : problem.interactions) value = 0.0;
    for (auto& group : problem.loss) {
      for (double& loss : group) loss *= factor;
    }
    const BudgetSolution found = least_loss(problem, {{0, middle(problem, 0, 0.4)}}, {});
    ASSERT_TRUE(found.feasible());
    EXPECT_LE(found.bound.value_or(found.loss), found.loss);
    EXPECT_GE(found.loss, 0.0);
  }
}

TEST(LeastLoss, ShakingNeverMakesTheAnswerWorse) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const BudgetProblem problem = random_problem(seed, 30, 3, true);
    const std::vector<CostLimit> limits{{0, middle(problem, 0, 0.4)}};
    BudgetOptions shaken;
    shaken.bound = false;
    shaken.num_kicks = 20;
    const BudgetSolution better = least_loss(problem, limits, shaken);
    shaken.num_kicks = 0;
    EXPECT_LE(better.loss, least_loss(problem, limits, shaken).loss);
    EXPECT_LE(better.costs[0], limits[0].at_most * (1.0 + 1e-8));
  }
}

TEST(LeastLoss, CountsWhatTwoGroupsDecideTogether) {
  BudgetProblem problem = random_problem(3, 5, 3, false);
  problem.costs[0].pairs.push_back(
      {.first = 1, .second = 3, .by_choices = {{1, 2, 4}, {2, 4, 8}, {4, 8, 16}}});
  const std::vector<CostLimit> limits{{0, middle(problem, 0, 0.5)}};
  const double best = loss_of(problem, *try_all(problem, limits));
  const BudgetSolution found = least_loss(problem, limits);
  ASSERT_TRUE(found.feasible());
  EXPECT_LE(found.costs[0], limits[0].at_most * (1.0 + 1e-8));
  if (found.optimal) {
    EXPECT_NEAR(found.loss, best, best * 2e-4);
  }
}

TEST(LeastLoss, MemoryIsLimitedAtEveryMoment) {
  BudgetProblem problem = random_problem(4, 6, 3, false);
  CostTable peak{.name = "peak", .rows = {}, .pairs = {}};
  for (std::size_t moment = 0; moment < 5; ++moment) {
    CostTable::Row row = problem.costs[0].rows[0];
    for (std::size_t g = 0; g < row.by_choice.size(); ++g) {
      if (g != moment && g != moment + 1)
        for (double& value : row.by_choice[g]) value = 0.0;
    }
    peak.rows.push_back(row);
  }
  problem.costs.push_back(peak);
  const std::vector<CostLimit> limits{{2, middle(problem, 2, 0.5)}};
  const double best = loss_of(problem, *try_all(problem, limits));
  const BudgetSolution found = least_loss(problem, limits);
  ASSERT_TRUE(found.feasible());
  EXPECT_LE(found.costs[2], limits[0].at_most * (1.0 + 1e-8));
  EXPECT_LE(found.loss, best * 1.2);
}

TEST(LeastLoss, InfeasibleBudgetSaysTheMinimum) {
  const BudgetProblem problem = random_problem(5, 6, 3, false);
  const std::vector<int> low(6, 0);
  const BudgetSolution found = least_loss(problem, {{0, 0.1}});
  EXPECT_FALSE(found.feasible());
  EXPECT_THAT(found.infeasible, HasSubstr("the minimum of bops is"));
  const double minimum = std::stod(found.infeasible.substr(found.infeasible.rfind(' ')));
  EXPECT_NEAR(minimum, cost_of(problem.costs[0], low), 1e-4 * minimum);
  EXPECT_TRUE(least_loss(problem, {{0, minimum * 1.0001}}).feasible());
}

TEST(LeastCost, MeetsTheLossAtTheLeastCost) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const BudgetProblem problem = random_problem(seed, 6, 3, false);
    const double wanted = 3.0 * least_loss(problem, {}).loss;
    const BudgetSolution found = least_cost(problem, 0, wanted, {});
    ASSERT_TRUE(found.feasible());
    EXPECT_LE(found.loss, wanted);
    if (found.optimal) {
      EXPECT_LE(found.costs[0] - *found.bound, 2e-4 * found.costs[0]);
      // One percent less money does not buy it.
      const auto best = try_all(problem, {{0, 0.99 * found.costs[0]}});
      EXPECT_TRUE(!best || loss_of(problem, *best) > wanted);
    }
  }
  const BudgetProblem problem = random_problem(0, 6, 3, false);
  EXPECT_THAT(least_cost(problem, 0, 1e-9, {}).infeasible, HasSubstr("the least loss is"));
}

TEST(Frontier, FallsInLossAndRisesInCost) {
  const BudgetProblem problem = random_problem(6, 20, 4, true);
  const std::vector<BudgetSolution> points = frontier(problem, 0, {}, 12);
  ASSERT_GE(points.size(), 6U);
  for (std::size_t i = 1; i < points.size(); ++i) {
    EXPECT_GT(points[i].costs[0], points[i - 1].costs[0]);
    EXPECT_LT(points[i].loss, points[i - 1].loss);
  }
  EXPECT_EQ(frontier(problem, 0, {}, 12).size(), points.size()) << "deterministic";
}

TEST(RepairLosses, MoreBitsNeverCountAsWorse) {
  std::vector<double> losses{0.3, 0.5, 0.1};  // 4, 8 and 16 bits
  const std::vector<std::vector<bool>> more_bits{
      {false, false, false}, {true, false, false}, {true, true, false}};
  repair_losses(losses, more_bits);
  EXPECT_THAT(losses, ::testing::ElementsAre(0.3, 0.3, 0.1));
}

TEST(LeastLoss, RefusesNumbersThatAreNotFinite) {
  BudgetProblem problem = random_problem(7, 3, 2, false);
  problem.loss[1][0] = std::nan("");
  EXPECT_THROW(least_loss(problem, {}), Error);
  EXPECT_THROW(least_loss(BudgetProblem{}, {}), Error);
}

}  // namespace
}  // namespace bitsweep
