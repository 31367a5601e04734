#include <algorithm>
#include <cmath>
#include <cstdio>

#include "allocate/budget/configuration.h"
#include "allocate/budget/descent.h"
#include "allocate/budget/highs.h"
#include "allocate/budget/relaxation.h"
#include "bitsweep/error.h"

namespace bitsweep {
namespace {

using allocate::Configuration;

// Exchanges of two groups cost the square of the choices, once per accepted exchange.
constexpr std::size_t kMaxChoicesForExchange = 1200;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

[[noreturn]] void reject(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, "budget", what, "give a finite number for each choice");
}

void check_table(const BudgetProblem& problem, const std::vector<std::vector<double>>& table,
                 const std::string& name) {
  if (table.size() != problem.loss.size()) reject("\"" + name + "\" has another number of groups");
  for (std::size_t g = 0; g < table.size(); ++g) {
    if (table[g].size() != problem.loss[g].size())
      reject("\"" + name + "\" has another number of choices in group " + std::to_string(g));
    for (const double value : table[g]) {
      if (!std::isfinite(value))
        reject("\"" + name + "\" has a value that is not finite in group " + std::to_string(g));
    }
  }
}

void check(const BudgetProblem& problem, const std::vector<CostLimit>& limits) {
  if (problem.loss.empty()) reject("there is no group");
  for (const auto& group : problem.loss) {
    if (group.empty()) reject("a group has no choice");
  }
  check_table(problem, problem.loss, "loss");
  const std::size_t n = problem.num_choices();
  if (!problem.interactions.empty() && problem.interactions.size() != n * n)
    reject("the interactions are no square over all choices");
  for (const CostTable& cost : problem.costs) {
    if (cost.rows.empty()) reject("\"" + cost.name + "\" has no row");
    for (const CostTable::Row& row : cost.rows) check_table(problem, row.by_choice, cost.name);
  }
  for (const CostLimit& limit : limits) {
    if (limit.cost < 0 || limit.cost >= static_cast<int>(problem.costs.size()))
      reject("a limit names a cost that is not there");
    if (std::isnan(limit.at_most)) reject("a limit is NaN");
  }
}

// The least that a cost can be by itself: by descent under a limit that nothing meets.
std::vector<int> cheapest_choices(const BudgetProblem& problem, int cost) {
  BudgetProblem only{.loss = problem.loss,
                     .interactions = {},
                     .costs = {problem.costs[static_cast<std::size_t>(cost)]}};
  for (auto& group : only.loss) std::fill(group.begin(), group.end(), 0.0);
  double low = 0.0;
  for (const CostTable::Row& row : only.costs.front().rows) {
    double sum = row.constant;
    for (const auto& group : row.by_choice) sum += *std::min_element(group.begin(), group.end());
    low = std::min(low, sum);
  }
  const std::vector<CostLimit> limits{{0, low - 1.0}};
  Configuration x(only, limits, std::vector<int>(problem.loss.size(), 0));
  bool changed = true;
  while (changed) {
    changed = false;
    for (std::size_t g = 0; g < problem.loss.size(); ++g) {
      int best = x.choice(g);
      double best_change = -1e-12;
      for (int c = 0; c < static_cast<int>(problem.loss[g].size()); ++c) {
        const double change = x.excess_change(g, c);
        if (change < best_change) {
          best = c;
          best_change = change;
        }
      }
      changed = changed || best != x.choice(g);
      x.set(g, best);
    }
  }
  return x.choices();
}

std::string why_infeasible(const BudgetProblem& problem, const std::vector<CostLimit>& limits) {
  for (const CostLimit& limit : limits) {
    const CostTable& table = problem.costs[static_cast<std::size_t>(limit.cost)];
    const double minimum = cost_of(table, cheapest_choices(problem, limit.cost));
    if (minimum > limit.at_most + std::abs(limit.at_most) * 2.0 * Configuration::kTolerance)
      return "the minimum of " + table.name + " is " + number(minimum);
  }
  return {};
}

BudgetSolution solution_of(const BudgetProblem& problem, std::vector<int> choices) {
  BudgetSolution result;
  result.loss = loss_of(problem, choices);
  for (const CostTable& cost : problem.costs) result.costs.push_back(cost_of(cost, choices));
  result.choices = std::move(choices);
  return result;
}

BudgetSolution infeasible(std::string why) {
  BudgetSolution result;
  result.infeasible = std::move(why);
  return result;
}

bool meets(const BudgetProblem& problem, const std::vector<CostLimit>& limits,
           const std::vector<int>& choices) {
  return Configuration(problem, limits, choices).fits();
}

/// The heuristic answer; empty when it found nothing that fits.
std::vector<int> search(const BudgetProblem& problem, const std::vector<CostLimit>& limits,
                        int num_kicks) {
  Configuration x(problem, limits, allocate::best_choices(problem));
  allocate::descend(problem, x);
  if (!x.fits()) return {};
  const bool exchange = problem.num_choices() <= kMaxChoicesForExchange;
  allocate::improve(problem, x, exchange);
  if (!problem.interactions.empty()) allocate::shake(problem, x, exchange, num_kicks);
  return x.choices();
}

const std::string kTogether = "no configuration was found that meets all limits together";

}  // namespace

std::size_t BudgetProblem::num_choices() const {
  std::size_t n = 0;
  for (const auto& group : loss) n += group.size();
  return n;
}

double cost_of(const CostTable& cost, const std::vector<int>& choices) {
  double highest = -INFINITY;
  for (std::size_t r = 0; r < cost.rows.size(); ++r) {
    double sum = cost.rows[r].constant;
    for (std::size_t g = 0; g < choices.size(); ++g)
      sum += cost.rows[r].by_choice[g][static_cast<std::size_t>(choices[g])];
    if (r == 0) {
      for (const CostTable::Pair& pair : cost.pairs) {
        const auto first = static_cast<std::size_t>(choices[static_cast<std::size_t>(pair.first)]);
        const auto second =
            static_cast<std::size_t>(choices[static_cast<std::size_t>(pair.second)]);
        sum += pair.by_choices[first][second];
      }
    }
    highest = std::max(highest, sum);
  }
  return highest;
}

double loss_of(const BudgetProblem& problem, const std::vector<int>& choices) {
  const std::vector<std::size_t> offsets = allocate::choice_offsets(problem);
  const std::size_t n = offsets.back();
  double sum = 0.0;
  for (std::size_t g = 0; g < choices.size(); ++g) {
    sum += problem.loss[g][static_cast<std::size_t>(choices[g])];
    if (problem.interactions.empty()) continue;
    const std::size_t row = (offsets[g] + static_cast<std::size_t>(choices[g])) * n;
    for (std::size_t h = 0; h < choices.size(); ++h)
      sum += problem.interactions[row + offsets[h] + static_cast<std::size_t>(choices[h])];
  }
  return sum;
}

BudgetSolution least_loss(const BudgetProblem& problem, const std::vector<CostLimit>& limits,
                          const BudgetOptions& options) {
  check(problem, limits);
  if (std::string why = why_infeasible(problem, limits); !why.empty())
    return infeasible(std::move(why));
  std::vector<int> choices = search(problem, limits, options.num_kicks);
  const bool adds_up = problem.interactions.empty();
  std::optional<allocate::HighsAnswer> proof;
  if (adds_up && options.bound && options.prove) {
    proof = allocate::solve_with_highs(problem, allocate::loss_table(problem), limits, std::nullopt,
                                       choices, options);
    if (proof && proof->infeasible) return infeasible("no configuration meets all limits together");
    const bool better =
        proof && !proof->choices.empty() && meets(problem, limits, proof->choices) &&
        (choices.empty() || loss_of(problem, proof->choices) < loss_of(problem, choices));
    if (better) choices = proof->choices;
  }
  if (choices.empty()) return infeasible(kTogether);
  BudgetSolution result = solution_of(problem, std::move(choices));
  if (proof) {
    result.bound = std::min(proof->bound, result.loss);
    result.optimal = proof->optimal;
  } else if (options.bound) {
    const std::optional<double> bound =
        allocate::relaxed_loss(problem, limits, result.loss, options);
    if (bound) result.bound = std::min(*bound, result.loss);
  }
  return result;
}

BudgetSolution least_cost(const BudgetProblem& problem, int cost, double max_loss,
                          const std::vector<CostLimit>& limits, const BudgetOptions& options) {
  std::vector<CostLimit> all = limits;
  all.push_back({cost, 0.0});
  check(problem, all);
  if (std::string why = why_infeasible(problem, limits); !why.empty())
    return infeasible(std::move(why));
  const CostTable& table = problem.costs[static_cast<std::size_t>(cost)];
  std::vector<int> best = search(problem, limits, options.num_kicks);
  if (best.empty()) return infeasible(kTogether);
  if (loss_of(problem, best) > max_loss)
    return infeasible("the least loss is " + number(loss_of(problem, best)));
  double low = cost_of(table, cheapest_choices(problem, cost));
  double high = cost_of(table, best);
  constexpr int kHalvings = 40;
  for (int i = 0; i < kHalvings && high - low > 1e-6 * std::abs(high); ++i) {
    const double middle = low + (high - low) / 2.0;
    all.back().at_most = middle;
    std::vector<int> found = search(problem, all, 0);
    if (!found.empty() && loss_of(problem, found) <= max_loss) {
      best = std::move(found);
      high = std::min(middle, cost_of(table, best));
    } else {
      low = middle;
    }
  }
  std::optional<allocate::HighsAnswer> proof;
  if (problem.interactions.empty() && options.bound && options.prove && table.rows.size() == 1) {
    proof = allocate::solve_with_highs(problem, table, limits, max_loss, best, options);
    const bool better = proof && !proof->choices.empty() &&
                        meets(problem, limits, proof->choices) &&
                        loss_of(problem, proof->choices) <= max_loss &&
                        cost_of(table, proof->choices) < cost_of(table, best);
    if (better) best = proof->choices;
  }
  BudgetSolution result = solution_of(problem, std::move(best));
  if (proof) {
    result.bound = std::min(proof->bound, result.costs[static_cast<std::size_t>(cost)]);
    result.optimal = proof->optimal;
  }
  return result;
}

std::vector<BudgetSolution> frontier(const BudgetProblem& problem, int cost,
                                     const std::vector<CostLimit>& limits, int num_points) {
  std::vector<CostLimit> all = limits;
  all.push_back({cost, 0.0});
  check(problem, all);
  const CostTable& table = problem.costs[static_cast<std::size_t>(cost)];
  const std::vector<int> best = search(problem, limits, 0);
  if (best.empty()) return {};
  const double low = cost_of(table, cheapest_choices(problem, cost));
  const double high = cost_of(table, best);
  std::vector<BudgetSolution> found;
  for (int i = 0; i < num_points; ++i) {
    const double share = num_points == 1 ? 1.0 : static_cast<double>(i) / (num_points - 1);
    all.back().at_most = low + share * (high - low);
    std::vector<int> choices = search(problem, all, 0);
    if (!choices.empty()) found.push_back(solution_of(problem, std::move(choices)));
  }
  found.push_back(solution_of(problem, best));
  const auto price = [&](const BudgetSolution& s) {
    return s.costs[static_cast<std::size_t>(cost)];
  };
  std::stable_sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
    return std::pair(price(a), a.loss) < std::pair(price(b), b.loss);
  });
  std::vector<BudgetSolution> kept;
  for (BudgetSolution& s : found) {
    if (kept.empty() || s.loss < kept.back().loss) kept.push_back(std::move(s));
  }
  return kept;
}

void repair_losses(std::vector<double>& losses, const std::vector<std::vector<bool>>& more_bits) {
  const std::vector<double> before = losses;
  for (std::size_t a = 0; a < losses.size(); ++a) {
    for (std::size_t b = 0; b < losses.size(); ++b) {
      if (more_bits[a][b]) losses[a] = std::min(losses[a], before[b]);
    }
  }
}

}  // namespace bitsweep
