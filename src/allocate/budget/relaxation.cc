#include "allocate/budget/relaxation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "allocate/budget/configuration.h"

namespace bitsweep::allocate {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// min w'x over shares x of the choices (summing to 1 in each group) whose cost a'x stays within a
/// limit. Solved exactly by walking the lower convex hulls of the groups from the dear end.
class ShareProblem {
 public:
  ShareProblem(std::vector<std::size_t> offsets, Vector cost, double limit)
      : offsets_(std::move(offsets)), cost_(std::move(cost)), limit_(limit) {}

  /// Shares by choice; absent when the cheapest choices exceed the limit.
  std::optional<Vector> solve(const Vector& weight) const {
    struct Step {
      double slope;  // weight gained per cost saved
      std::size_t group;
      std::size_t from;
      std::size_t to;
    };
    std::vector<Step> steps;
    Vector x(cost_.size(), 0.0);
    double cost = 0.0;
    for (std::size_t g = 0; g + 1 < offsets_.size(); ++g) {
      const std::vector<std::size_t> hull = hull_of(g, weight);
      x[hull.front()] = 1.0;
      cost += cost_[hull.front()];
      for (std::size_t i = 0; i + 1 < hull.size(); ++i) {
        steps.push_back(
            {(weight[hull[i + 1]] - weight[hull[i]]) / (cost_[hull[i]] - cost_[hull[i + 1]]), g,
             hull[i], hull[i + 1]});
      }
    }
    // Slopes rise along a hull, so a stable sort keeps each group's steps in order.
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Step& a, const Step& b) { return a.slope < b.slope; });
    const double slack = 1e-12 * std::max(1.0, std::abs(limit_));
    for (const Step& step : steps) {
      if (cost <= limit_ + slack) return x;
      const double saved = cost_[step.from] - cost_[step.to];
      const double share = std::min(1.0, (cost - limit_) / saved);
      x[step.from] -= share;
      x[step.to] += share;
      cost -= share * saved;
    }
    if (cost > limit_ + slack + 1e-9 * std::abs(limit_)) return std::nullopt;
    return x;
  }

 private:
  /// Choices on the lower hull of (cost, weight), from the least weight to the least cost.
  std::vector<std::size_t> hull_of(std::size_t group, const Vector& weight) const {
    std::vector<std::size_t> order(offsets_[group + 1] - offsets_[group]);
    std::iota(order.begin(), order.end(), offsets_[group]);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(weight[a], cost_[a]) < std::pair(weight[b], cost_[b]);
    });
    std::vector<std::size_t> hull;
    for (const std::size_t s : order) {
      if (!hull.empty() && cost_[s] >= cost_[hull.back()]) continue;
      while (hull.size() >= 2) {
        const std::size_t b = hull.back();
        const std::size_t a = hull[hull.size() - 2];
        const bool above = (weight[b] - weight[a]) * (cost_[a] - cost_[s]) >=
                           (weight[s] - weight[a]) * (cost_[a] - cost_[b]);
        if (!above) break;
        hull.pop_back();
      }
      hull.push_back(s);
    }
    return hull;
  }

  std::vector<std::size_t> offsets_;
  Vector cost_;
  double limit_;
};

Vector flat(const std::vector<std::vector<double>>& by_choice) {
  Vector result;
  for (const auto& group : by_choice) result.insert(result.end(), group.begin(), group.end());
  return result;
}

/// Whether matrix + shift * diagonal has a Cholesky factor.
bool is_positive(const Vector& matrix, const Vector& diagonal, double shift) {
  const std::size_t n = diagonal.size();
  Vector factor = matrix;
  for (std::size_t i = 0; i < n; ++i) factor[i * n + i] += shift * diagonal[i];
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      double sum = factor[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= factor[i * n + k] * factor[j * n + k];
      if (i == j) {
        if (!(sum > 0.0)) return false;
        factor[j * n + j] = std::sqrt(sum);
      } else {
        factor[i * n + j] = sum / factor[j * n + j];
      }
    }
  }
  return true;
}

/// The smallest shift (within 2%) that makes the interactions convex.
double convex_shift(const Vector& interactions, const Vector& diagonal) {
  double high = 1e-3;
  while (!is_positive(interactions, diagonal, high)) high *= 2.0;
  double low = high > 1e-3 ? high / 2.0 : 0.0;
  while (high - low > 0.02 * high) {
    const double middle = (low + high) / 2.0;
    (is_positive(interactions, diagonal, middle) ? high : low) = middle;
  }
  return high;
}

/// Frank-Wolfe: each step's linear problem bounds the convex one from below.
double convex_bound(const Vector& interactions, const Vector& linear, const Vector& diagonal,
                    double shift, const ShareProblem& shares, Vector x) {
  const std::size_t n = linear.size();
  const auto product = [&](const Vector& v) {
    Vector result(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      if (v[i] == 0.0) continue;
      const double* row = &interactions[i * n];
      for (std::size_t j = 0; j < n; ++j) result[j] += v[i] * row[j];
      result[i] += v[i] * shift * diagonal[i];
    }
    return result;
  };
  constexpr int kMaxSteps = 1000;
  constexpr double kEnough = 1e-4;
  double bound = -INFINITY;
  Vector qx = product(x);
  for (int step = 0; step < kMaxSteps; ++step) {
    Vector gradient(n);
    for (std::size_t i = 0; i < n; ++i) gradient[i] = 2.0 * qx[i] + linear[i];
    const Vector s = *shares.solve(gradient);
    const double value = dot(x, qx) + dot(linear, x);
    const double gap = dot(gradient, x) - dot(gradient, s);
    bound = std::max(bound, value - gap);
    if (gap <= kEnough * std::abs(value)) break;
    Vector direction(n);
    for (std::size_t i = 0; i < n; ++i) direction[i] = s[i] - x[i];
    const Vector qs = product(s);
    double curvature = 0.0;
    for (std::size_t i = 0; i < n; ++i) curvature += direction[i] * (qs[i] - qx[i]);
    const double length = curvature > 0.0 ? std::min(1.0, gap / (2.0 * curvature)) : 1.0;
    for (std::size_t i = 0; i < n; ++i) {
      x[i] += length * direction[i];
      qx[i] += length * (qs[i] - qx[i]);
    }
  }
  return bound;
}

}  // namespace

std::optional<double> relaxed_loss(const BudgetProblem& problem,
                                   const std::vector<CostLimit>& limits) {
  const std::vector<std::size_t> offsets = choice_offsets(problem);
  const Vector loss = flat(problem.loss);
  // Without limits one that nothing exceeds.
  std::vector<ShareProblem> shares;
  if (limits.empty()) shares.emplace_back(offsets, Vector(loss.size(), 0.0), 1.0);
  for (const CostLimit& limit : limits) {
    for (const CostTable::Row& row : problem.costs[static_cast<std::size_t>(limit.cost)].rows)
      shares.emplace_back(offsets, flat(row.by_choice), limit.at_most - row.constant);
  }
  const ShareProblem* tightest = nullptr;
  Vector x;
  double highest = -INFINITY;
  for (const ShareProblem& candidate : shares) {
    const std::optional<Vector> solution = candidate.solve(loss);
    if (!solution) return std::nullopt;
    const double value = dot(loss, *solution);
    if (value <= highest) continue;
    highest = value;
    tightest = &candidate;
    x = *solution;
  }
  if (problem.interactions.empty()) return highest;
  Vector diagonal = loss;
  const double floor = 1e-9 * std::abs(*std::max_element(loss.begin(), loss.end())) + 1e-300;
  for (double& d : diagonal) d = std::max(std::abs(d), floor);
  // Whole choices have x = x * x, so what is added to the diagonal is taken from the linear part.
  const double shift = convex_shift(problem.interactions, diagonal);
  Vector linear = loss;
  for (std::size_t i = 0; i < linear.size(); ++i) linear[i] -= shift * diagonal[i];
  return convex_bound(problem.interactions, linear, diagonal, shift, *tightest, x);
}

}  // namespace bitsweep::allocate
