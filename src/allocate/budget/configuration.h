#pragma once

#include <cstddef>
#include <vector>

#include "bitsweep/budget.h"

namespace bitsweep::allocate {

/// Position of the first choice of each group in tables over all choices; the total at the end.
std::vector<std::size_t> choice_offsets(const BudgetProblem& problem);

/// A choice per group with its loss and costs, kept up to date under changes of one group.
class Configuration {
 public:
  Configuration(const BudgetProblem& problem, const std::vector<CostLimit>& limits,
                std::vector<int> choices);

  const std::vector<int>& choices() const { return choices_; }
  int choice(std::size_t group) const { return choices_[group]; }
  double loss() const { return loss_; }
  /// Sum over limits and rows of what is above the limit, each in units of its limit.
  double excess() const;
  bool fits() const { return excess() <= kTolerance; }

  double loss_change(std::size_t group, int choice) const;
  double excess_change(std::size_t group, int choice) const;
  void set(std::size_t group, int choice);

  /// Rounding of sums; budgets are met up to this share of themselves.
  static constexpr double kTolerance = 1e-9;

 private:
  double row_change(std::size_t limit, std::size_t row, std::size_t group, int choice) const;
  double over(std::size_t limit, double value) const;

  const BudgetProblem& problem_;
  const std::vector<CostLimit>& limits_;
  std::vector<std::size_t> offsets_;
  std::vector<int> choices_;
  double loss_ = 0.0;
  std::vector<double> field_;              // by choice: its interactions with the chosen ones
  std::vector<std::vector<double>> rows_;  // [limit][row]
  // [limit][group]: pairs of the limit's cost that the group is in
  std::vector<std::vector<std::vector<const CostTable::Pair*>>> pairs_;
};

}  // namespace bitsweep::allocate
