#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bitsweep/export.h"

namespace BITSWEEP_EXPORT bitsweep {

/// What a configuration costs: the largest of its rows. Most costs have one row; peak memory has
/// one per moment of the run.
struct CostTable {
  struct Row {
    double constant = 0.0;
    std::vector<std::vector<double>> by_choice;  ///< [group][choice]
  };
  /// Part of the first row that two groups decide together, such as a product of two activations.
  struct Pair {
    int first = 0;
    int second = 0;
    std::vector<std::vector<double>> by_choices;  ///< [choice of first][choice of second], >= 0
  };
  std::string name;
  std::vector<Row> rows;
  std::vector<Pair> pairs;
};

/// One choice per group, the loss of quality of each, and costs.
///
/// loss(x) = sum of loss[g][x_g] + sum over pairs of groups g != h of the interactions of x_g and
/// x_h, each pair counted in both orders. With the Gram matrix of the output changes of all choices
/// this is the squared error when changes add up.
struct BudgetProblem {
  std::vector<std::vector<double>> loss;  ///< [group][choice], finite
  /// Symmetric, over all choices; within a group for the bound only. Empty: losses add up.
  std::vector<double> interactions;
  std::vector<CostTable> costs;

  std::size_t num_choices() const;
};

struct CostLimit {
  int cost = 0;  ///< index into BudgetProblem::costs
  double at_most = 0.0;
};

struct BudgetOptions {
  /// Compute a bound; without, the answer comes at once.
  bool bound = true;
  /// Ask HiGHS for the proof where losses add up. Without its library the bound is that of the
  /// relaxation.
  bool prove = true;
  /// Where losses interact: how often the best answer is shaken and improved again.
  int num_kicks = 0;
  std::filesystem::path highs_library;  ///< empty: searched
  double relative_gap = 1e-4;           ///< HiGHS stops there
  int max_nodes = 20000;                ///< or there; a count, so that results repeat
  /// Where losses interact the bound is raised until it is as near as this to the answer, or for
  /// so many relaxations (each tenths of a second for 150 groups), the last split finished.
  double interacting_gap = 0.05;
  int max_relaxations = 240;
};

/// Answer to one question.
struct BudgetSolution {
  std::vector<int> choices;  ///< by group; empty when infeasible
  double loss = 0.0;
  std::vector<double> costs;
  /// No configuration within the limits loses (or, for least_cost, costs) less.
  std::optional<double> bound;
  bool optimal = false;    ///< proven within BudgetOptions::relative_gap
  std::string infeasible;  ///< why there is no answer: "the minimum of bops is 0.52"

  bool feasible() const { return infeasible.empty(); }
};

/// Least loss with every cost within its limit. Deterministic.
///
/// Moves with the smallest loss per unit of cost from the best configuration down (the efficient
/// frontier of the multiple-choice knapsack), improved by exchanges of one and two groups. Bound:
/// HiGHS, or the relaxation; for interactions the best convex one (a semidefinite program).
/// @throws Error(kInvalidArgument) for a problem without groups, tables of another shape, or
/// numbers that are not finite.
BudgetSolution least_loss(const BudgetProblem& problem, const std::vector<CostLimit>& limits,
                          const BudgetOptions& options = {});

/// Least value of one cost with a loss of at most `max_loss` and every other cost within its limit.
BudgetSolution least_cost(const BudgetProblem& problem, int cost, double max_loss,
                          const std::vector<CostLimit>& limits, const BudgetOptions& options = {});

/// Configurations that no other one found beats in both loss and this cost, cheapest first, between
/// the least cost and the least loss; at most `num_points`.
std::vector<BudgetSolution> frontier(const BudgetProblem& problem, int cost,
                                     const std::vector<CostLimit>& limits, int num_points);

/// Value of one cost.
double cost_of(const CostTable& cost, const std::vector<int>& choices);
double loss_of(const BudgetProblem& problem, const std::vector<int>& choices);

/// Lowers losses so that a choice with more bits never counts as worse: each gets the least loss of
/// all choices that `more_bits(a, b)` (a has at least the bits of b) puts below it.
void repair_losses(std::vector<double>& losses, const std::vector<std::vector<bool>>& more_bits);

}  // namespace BITSWEEP_EXPORT bitsweep
