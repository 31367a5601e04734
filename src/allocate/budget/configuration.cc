#include "allocate/budget/configuration.h"

#include <algorithm>
#include <cmath>

namespace bitsweep::allocate {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

double pair_value(const CostTable::Pair& pair, const std::vector<int>& choices, std::size_t group,
                  int choice) {
  const int first = at(pair.first) == group ? choice : choices[at(pair.first)];
  const int second = at(pair.second) == group ? choice : choices[at(pair.second)];
  return pair.by_choices[at(first)][at(second)];
}

}  // namespace

std::vector<std::size_t> choice_offsets(const BudgetProblem& problem) {
  std::vector<std::size_t> offsets{0};
  for (const auto& group : problem.loss) offsets.push_back(offsets.back() + group.size());
  return offsets;
}

Configuration::Configuration(const BudgetProblem& problem, const std::vector<CostLimit>& limits,
                             std::vector<int> choices)
    : problem_(problem),
      limits_(limits),
      offsets_(choice_offsets(problem)),
      choices_(std::move(choices)),
      loss_(loss_of(problem, choices_)) {
  if (!problem.interactions.empty()) {
    const std::size_t n = offsets_.back();
    field_.assign(n, 0.0);
    for (std::size_t g = 0; g < choices_.size(); ++g) {
      const double* row = &problem.interactions[(offsets_[g] + at(choices_[g])) * n];
      for (std::size_t s = 0; s < n; ++s) field_[s] += row[s];
    }
  }
  for (const CostLimit& limit : limits_) {
    const CostTable& table = problem.costs[at(limit.cost)];
    std::vector<double>& values = rows_.emplace_back();
    for (const CostTable::Row& row : table.rows) {
      double value = row.constant;
      for (std::size_t g = 0; g < choices_.size(); ++g) value += row.by_choice[g][at(choices_[g])];
      values.push_back(value);
    }
    auto& of_group = pairs_.emplace_back(choices_.size());
    for (const CostTable::Pair& pair : table.pairs) {
      values[0] += pair.by_choices[at(choices_[at(pair.first)])][at(choices_[at(pair.second)])];
      of_group[at(pair.first)].push_back(&pair);
      of_group[at(pair.second)].push_back(&pair);
    }
  }
}

double Configuration::over(std::size_t limit, double value) const {
  const double at_most = limits_[limit].at_most;
  const double scale = at_most == 0.0 ? 1.0 : std::abs(at_most);
  return std::max(0.0, (value - at_most) / scale - kTolerance);
}

double Configuration::excess() const {
  double sum = 0.0;
  for (std::size_t l = 0; l < limits_.size(); ++l) {
    for (const double value : rows_[l]) sum += over(l, value);
  }
  return sum;
}

double Configuration::loss_change(std::size_t group, int choice) const {
  const int old = choices_[group];
  double change = problem_.loss[group][at(choice)] - problem_.loss[group][at(old)];
  if (!field_.empty()) {
    const std::size_t now = offsets_[group] + at(choice);
    const std::size_t before = offsets_[group] + at(old);
    // The field holds the group's own old choice, which goes.
    const double own = choice == old ? 0.0 : problem_.interactions[before * field_.size() + now];
    change += 2.0 * (field_[now] - own - field_[before]);
  }
  return change;
}

double Configuration::row_change(std::size_t limit, std::size_t row, std::size_t group,
                                 int choice) const {
  const int old = choices_[group];
  const CostTable& table = problem_.costs[at(limits_[limit].cost)];
  const auto& by_choice = table.rows[row].by_choice[group];
  double change = by_choice[at(choice)] - by_choice[at(old)];
  if (row == 0) {
    for (const CostTable::Pair* pair : pairs_[limit][group])
      change +=
          pair_value(*pair, choices_, group, choice) - pair_value(*pair, choices_, group, old);
  }
  return change;
}

double Configuration::excess_change(std::size_t group, int choice) const {
  double sum = 0.0;
  for (std::size_t l = 0; l < limits_.size(); ++l) {
    for (std::size_t r = 0; r < rows_[l].size(); ++r) {
      const double value = rows_[l][r];
      sum += over(l, value + row_change(l, r, group, choice)) - over(l, value);
    }
  }
  return sum;
}

void Configuration::set(std::size_t group, int choice) {
  const int old = choices_[group];
  if (old == choice) return;
  loss_ += loss_change(group, choice);
  for (std::size_t l = 0; l < limits_.size(); ++l) {
    for (std::size_t r = 0; r < rows_[l].size(); ++r)
      rows_[l][r] += row_change(l, r, group, choice);
  }
  if (!field_.empty()) {
    const std::size_t n = field_.size();
    const double* now = &problem_.interactions[(offsets_[group] + at(choice)) * n];
    const double* before = &problem_.interactions[(offsets_[group] + at(old)) * n];
    for (std::size_t s = 0; s < n; ++s) field_[s] += now[s] - before[s];
  }
  choices_[group] = choice;
}

}  // namespace bitsweep::allocate
