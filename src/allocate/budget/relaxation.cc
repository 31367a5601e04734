#include "allocate/budget/relaxation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "allocate/budget/configuration.h"
#include "allocate/budget/convexify.h"

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
      : offsets_(std::move(offsets)),
        cost_(std::move(cost)),
        limit_(limit),
        fixed_(offsets_.size() - 1, -1) {}

  /// The only choice left to each group; -1: all are.
  void fix(std::vector<int> choices) { fixed_ = std::move(choices); }

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
    if (fixed_[group] >= 0) return {offsets_[group] + static_cast<std::size_t>(fixed_[group])};
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
  std::vector<int> fixed_;
};

Vector flat(const std::vector<std::vector<double>>& by_choice) {
  Vector result;
  for (const auto& group : by_choice) result.insert(result.end(), group.begin(), group.end());
  return result;
}

/// Frank-Wolfe: each step's linear problem bounds the convex one from below. Moves `x` to the
/// best shares found.
double convex_bound(const Vector& matrix, const Vector& linear, const ShareProblem& shares,
                    Vector& x) {
  const std::size_t n = linear.size();
  const auto product = [&](const Vector& v) {
    Vector result(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      if (v[i] == 0.0) continue;
      const double* row = &matrix[i * n];
      for (std::size_t j = 0; j < n; ++j) result[j] += v[i] * row[j];
    }
    return result;
  };
  constexpr int kMaxSteps = 1000;
  constexpr double kEnough = 1e-3;
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

/// Bounds of losses that interact, by branch and bound over convex relaxations.
class ConvexBound {
 public:
  ConvexBound(const BudgetProblem& problem, Vector loss, ShareProblem shares)
      : problem_(problem),
        convexifier_(problem),
        offsets_(choice_offsets(problem)),
        loss_(std::move(loss)),
        shares_(std::move(shares)) {}

  /// Splits the node with the lowest bound until that is within `gap` of the `known` loss, or for
  /// `max_relaxations`. `x`: shares to start from.
  double bound(Vector x, double known, double gap, int max_relaxations) {
    constexpr int kRootRounds = 8;
    constexpr int kRounds = 2;
    Node root{.fixed = std::vector<int>(offsets_.size() - 1, -1), .blocks = {}, .x = std::move(x)};
    root.blocks = convexifier_.own_blocks(problem_);
    relax(root, kRootRounds);
    std::vector<Node> open{std::move(root)};
    while (num_relaxations_ < max_relaxations) {
      const auto lowest = std::min_element(
          open.begin(), open.end(), [](const Node& a, const Node& b) { return a.bound < b.bound; });
      if (lowest->bound >= known - gap * std::abs(known)) break;
      const Node parent = std::move(*lowest);
      open.erase(lowest);
      const std::size_t g = weakest_group(parent);
      for (std::size_t c = 0; c < offsets_[g + 1] - offsets_[g]; ++c) {
        Node child = parent;
        child.fixed[g] = static_cast<int>(c);
        shares_.fix(child.fixed);
        const std::optional<Vector> start = shares_.solve(loss_);
        if (!start) continue;  // nothing fits there
        child.x = *start;
        relax(child, kRounds);
        child.bound = std::max(child.bound, parent.bound);
        if (child.bound < known) open.push_back(std::move(child));
      }
      if (open.empty()) return known;
    }
    double least = known;
    for (const Node& node : open) least = std::min(least, node.bound);
    return least;
  }

 private:
  struct Node {
    std::vector<int> fixed;
    Convexifier::Blocks blocks;
    Vector x;
    double bound = -INFINITY;
  };

  /// Raises the bound by better blocks: each relaxation's shares say where its blocks took too
  /// much, the next blocks take less there (Frank-Wolfe again, with shorter steps where one fails).
  void relax(Node& node, int rounds) {
    shares_.fix(node.fixed);
    node.bound = std::max(node.bound, bound_with(node.blocks, node.x));
    double step = 0.5;
    for (int round = 1; round < rounds; ++round) {
      const Convexifier::Blocks next = convexifier_.blocks_for(spread_of(node.x));
      Convexifier::Blocks trial = node.blocks;
      for (std::size_t g = 0; g < next.size(); ++g) {
        for (std::size_t i = 0; i < next[g].size(); ++i)
          trial[g][i] += step * (next[g][i] - trial[g][i]);
      }
      Vector x = node.x;
      const double bound = bound_with(trial, x);
      if (bound > node.bound) {
        node.bound = bound;
        node.blocks = std::move(trial);
        node.x = std::move(x);
      } else {
        step /= 2.0;
      }
    }
  }

  double bound_with(const Convexifier::Blocks& blocks, Vector& x) {
    ++num_relaxations_;
    const Vector matrix = convexifier_.matrix_with(blocks);
    const auto is_finite = [](double value) { return std::isfinite(value); };
    if (!std::all_of(matrix.begin(), matrix.end(), is_finite)) return -INFINITY;
    Vector linear = loss_;
    for (std::size_t i = 0; i < linear.size(); ++i) linear[i] -= matrix[i * linear.size() + i];
    return convex_bound(matrix, linear, shares_, x);
  }

  /// Covariance of the choices but the first, when a group takes its choices with these shares.
  Convexifier::Blocks spread_of(const Vector& x) const {
    Convexifier::Blocks blocks;
    for (std::size_t g = 0; g < convexifier_.num_groups(); ++g) {
      const std::size_t k = convexifier_.size(g);
      Vector& block = blocks.emplace_back(k * k, 0.0);
      for (std::size_t i = 0; i < k; ++i) {
        const double share = x[offsets_[g] + 1 + i];
        for (std::size_t j = 0; j < k; ++j)
          block[i * k + j] = (i == j ? share : 0.0) - share * x[offsets_[g] + 1 + j];
      }
    }
    return blocks;
  }

  /// The group whose shares gain most by not being whole.
  std::size_t weakest_group(const Node& node) const {
    const Convexifier::Blocks spread = spread_of(node.x);
    std::size_t weakest = 0;
    double most = -INFINITY;
    for (std::size_t g = 0; g < spread.size(); ++g) {
      const double taken = dot(node.blocks[g], spread[g]);
      if (node.fixed[g] >= 0 || convexifier_.size(g) == 0 || taken <= most) continue;
      most = taken;
      weakest = g;
    }
    return weakest;
  }

  const BudgetProblem& problem_;
  Convexifier convexifier_;
  std::vector<std::size_t> offsets_;
  Vector loss_;
  ShareProblem shares_;
  int num_relaxations_ = 0;
};

}  // namespace

std::optional<double> relaxed_loss(const BudgetProblem& problem,
                                   const std::vector<CostLimit>& limits, double known,
                                   const BudgetOptions& options) {
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
  return ConvexBound(problem, loss, *tightest)
      .bound(std::move(x), known, options.interacting_gap, options.max_relaxations);
}

}  // namespace bitsweep::allocate
