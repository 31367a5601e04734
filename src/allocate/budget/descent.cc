#include "allocate/budget/descent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace bitsweep::allocate {
namespace {

struct Move {
  std::size_t group = 0;
  int choice = -1;
  double loss_change = 0.0;
};

template <typename Visit>
void for_each_move(const BudgetProblem& problem, const Configuration& x, std::size_t first,
                   Visit visit) {
  for (std::size_t g = first; g < problem.loss.size(); ++g) {
    for (int c = 0; c < static_cast<int>(problem.loss[g].size()); ++c) {
      if (c != x.choice(g)) visit(g, c);
    }
  }
}

// A gain below the rounding of the sums is none, so that improvement ends.
double smallest_gain(const Configuration& x) { return 1e-12 * (std::abs(x.loss()) + 1e-300); }

bool improve_one(const BudgetProblem& problem, Configuration& x) {
  Move best{.loss_change = -smallest_gain(x)};
  for_each_move(problem, x, 0, [&](std::size_t g, int c) {
    const double change = x.loss_change(g, c);
    if (change < best.loss_change && x.excess_change(g, c) <= 0.0) best = {g, c, change};
  });
  if (best.choice < 0) return false;
  x.set(best.group, best.choice);
  return true;
}

bool improve_two(const BudgetProblem& problem, Configuration& x) {
  Move first;
  Move second{.loss_change = -smallest_gain(x)};
  for (std::size_t g = 0; g + 1 < problem.loss.size(); ++g) {
    const int old = x.choice(g);
    for (int c = 0; c < static_cast<int>(problem.loss[g].size()); ++c) {
      if (c == old) continue;
      const double change = x.loss_change(g, c);
      x.set(g, c);
      const double excess = x.excess();
      for_each_move(problem, x, g + 1, [&](std::size_t h, int d) {
        const double both = change + x.loss_change(h, d);
        if (both < second.loss_change && excess + x.excess_change(h, d) <= 0.0) {
          first = {g, c, change};
          second = {h, d, both};
        }
      });
      x.set(g, old);
    }
  }
  if (second.choice < 0) return false;
  x.set(first.group, first.choice);
  x.set(second.group, second.choice);
  return true;
}

}  // namespace

std::vector<int> best_choices(const BudgetProblem& problem) {
  std::vector<int> choices;
  for (const std::vector<double>& losses : problem.loss) {
    choices.push_back(
        static_cast<int>(std::min_element(losses.begin(), losses.end()) - losses.begin()));
  }
  return choices;
}

void descend(const BudgetProblem& problem, Configuration& x) {
  while (!x.fits()) {
    Move best;
    double best_price = std::numeric_limits<double>::infinity();
    for_each_move(problem, x, 0, [&](std::size_t g, int c) {
      const double gain = -x.excess_change(g, c);
      if (gain <= 1e-15) return;
      const double price = x.loss_change(g, c) / gain;
      if (price < best_price) {
        best_price = price;
        best = {g, c, 0.0};
      }
    });
    if (best.choice < 0) return;
    x.set(best.group, best.choice);
  }
}

void improve(const BudgetProblem& problem, Configuration& x, bool exchange) {
  constexpr int kMaxExchanges = 200;
  for (int i = 0; i < kMaxExchanges; ++i) {
    while (improve_one(problem, x)) {
    }
    if (!exchange || !improve_two(problem, x)) return;
  }
}

void shake(const BudgetProblem& problem, Configuration& x, bool exchange, int count) {
  constexpr std::size_t kNumChanged = 5;
  std::mt19937 random(1);
  for (int i = 0; i < count; ++i) {
    const std::vector<int> best = x.choices();
    const double least = x.loss();
    for (std::size_t k = 0; k < kNumChanged; ++k) {
      const std::size_t g = random() % best.size();
      x.set(g, static_cast<int>(random() % problem.loss[g].size()));
    }
    descend(problem, x);
    if (x.fits()) improve(problem, x, exchange);
    if (x.fits() && x.loss() < least - smallest_gain(x)) continue;
    for (std::size_t g = 0; g < best.size(); ++g) x.set(g, best[g]);
  }
}

}  // namespace bitsweep::allocate
