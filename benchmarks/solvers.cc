// How near the budget solver comes to the optimum, and how long it takes.
//
//   bitsweep_solver_bench [MODEL SAMPLES]
//
// Prints gap and time of made-up instances: 500 groups of 4 choices whose losses add up, and 150
// groups that interact. With a model the instances are those of `bitsweep mix` for it: real changes
// of real outputs.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <random>
#include <string>
#include <vector>

#include "bitsweep/budget.h"
#include "bitsweep/data.h"
#include "bitsweep/mix.h"
#include "bitsweep/simulation.h"

namespace bitsweep {
namespace {

/// What decides how hard a made-up instance is.
struct Kind {
  std::string name;
  int num_groups = 0;
  int num_choices = 0;
  /// Dimensions that the changes of the outputs lie in; 0: losses add up.
  int num_outputs = 0;
  /// Share of each change that is common to all, as rounding in one direction is.
  double common = 0.0;
};

/// Losses fall by about 4 per bit-width and differ by orders of magnitude between groups, costs
/// rise with the width.
BudgetProblem make_problem(const Kind& kind, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const auto uniform = [&] { return 0.5 + 0.5 * std::erf(normal(random) / std::sqrt(2.0)); };
  BudgetProblem problem;
  CostTable cost{.name = "bops", .rows = {{.constant = 0.0, .by_choice = {}}}, .pairs = {}};
  std::vector<double> changes;
  const auto length = static_cast<std::size_t>(std::max(1, kind.num_outputs));
  std::vector<double> shared(length);
  for (double& v : shared) v = normal(random);
  for (int g = 0; g < kind.num_groups; ++g) {
    const double size = std::pow(10.0, 2.0 * uniform());
    const double harm = std::pow(10.0, 3.0 * uniform() - 3.0);
    std::vector<double> prices;
    std::vector<double> losses;
    for (int c = 0; c < kind.num_choices; ++c) {
      prices.push_back(size * (c + 1) * (0.9 + 0.2 * uniform()));
      const double loss = harm * std::pow(4.0, -c) * (0.5 + uniform());
      std::vector<double> change(length);
      double squared = 0.0;
      for (std::size_t k = 0; k < length; ++k) {
        change[k] = kind.common * shared[k] + (1.0 - kind.common) * normal(random);
        squared += change[k] * change[k];
      }
      for (const double v : change) changes.push_back(v * std::sqrt(loss / squared));
      losses.push_back(loss);
    }
    problem.loss.push_back(std::move(losses));
    cost.rows[0].by_choice.push_back(std::move(prices));
  }
  problem.costs = {std::move(cost)};
  if (kind.num_outputs == 0) return problem;
  const std::size_t n = problem.num_choices();
  problem.interactions.assign(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      double sum = 0.0;
      for (std::size_t k = 0; k < length; ++k)
        sum += changes[i * length + k] * changes[j * length + k];
      problem.interactions[i * n + j] = problem.interactions[j * n + i] = sum;
    }
  }
  return problem;
}

/// Cost between the cheapest and the dearest choice of each group.
double between(const CostTable& cost, double share) {
  double low = cost.rows[0].constant;
  double high = low;
  for (const auto& prices : cost.rows[0].by_choice) {
    low += *std::min_element(prices.begin(), prices.end());
    high += *std::max_element(prices.begin(), prices.end());
  }
  return low + share * (high - low);
}

void report(const std::string& name, const BudgetProblem& problem) {
  for (const double share : {0.2, 0.4, 0.6, 0.8}) {
    const std::vector<CostLimit> limits{{0, between(problem.costs[0], share)}};
    for (const bool prove : {false, true}) {
      if (prove && !problem.interactions.empty()) continue;
      const auto begin = std::chrono::steady_clock::now();
      BudgetOptions options;
      options.prove = prove;
      options.num_kicks = 30;
      options.max_relaxations = 600;
      const BudgetSolution found = least_loss(problem, limits, options);
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      const double gap = found.bound ? (found.loss - *found.bound) / found.loss : INFINITY;
      fmt::print("{:<34}{:>7}{:>8}{:>8.2f}{:>7}{:>14.6g}{:>10.3f} %{:>8.2f} s\n", name,
                 problem.loss.size(), problem.num_choices(), share, prove ? "yes" : "no",
                 found.loss, 100.0 * gap, seconds);
      std::fflush(stdout);
    }
  }
}

void report_model(const std::string& path, const std::string& samples) {
  const Model model = Model::load(path);
  Simulation simulation(model, {});
  const auto source = open_samples(samples, model, {.max_samples = 4});
  for (const std::string text : {"16/8 8/8", "16/8 8/8 8/6 8/4"}) {
    MixOptions options;
    for (std::size_t at = 0; at < text.size(); at = text.find(' ', at) + 1) {
      const std::size_t slash = text.find('/', at);
      options.candidates.push_back(
          {Format::integer(std::atoi(&text[at])), Format::integer(std::atoi(&text[slash + 1]))});
      if (text.find(' ', at) == std::string::npos) break;
    }
    BudgetProblem problem = mix_problem(simulation, *source, *source, options).problem;
    report("pairwise, " + text, problem);
    problem.interactions.clear();
    report("additive, " + text, problem);
  }
}

}  // namespace
}  // namespace bitsweep

int main(int argc, char** argv) {
  fmt::print("{:<34}{:>7}{:>8}{:>8}{:>7}{:>14}{:>12}{:>10}\n", "instance", "groups", "choices",
             "budget", "proof", "loss", "gap", "time");
  try {
    if (argc == 3) {
      bitsweep::report_model(argv[1], argv[2]);
      return 0;
    }
    for (unsigned seed = 0; seed < 2; ++seed) {
      for (const bitsweep::Kind& kind : {bitsweep::Kind{"additive", 500, 4, 0, 0.0},
                                         bitsweep::Kind{"independent", 150, 3, 4000, 0.0},
                                         bitsweep::Kind{"one common direction", 150, 3, 4000, 0.2},
                                         bitsweep::Kind{"few outputs", 150, 3, 40, 0.0}})
        bitsweep::report(kind.name, bitsweep::make_problem(kind, seed));
    }
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
