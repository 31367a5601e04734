#include "allocate/mix/correction.h"

#include <algorithm>
#include <cmath>

namespace bitsweep::allocate {
namespace {

/// Solves a small symmetric positive definite system.
std::vector<double> solve(std::vector<double> matrix, std::vector<double> right) {
  const std::size_t n = right.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      double sum = matrix[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i * n + k] * matrix[j * n + k];
      matrix[i * n + j] = i == j ? std::sqrt(sum) : sum / matrix[j * n + j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= matrix[i * n + k] * right[k];
    right[i] /= matrix[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) right[i] -= matrix[k * n + i] * right[k];
    right[i] /= matrix[i * n + i];
  }
  return right;
}

}  // namespace

BudgetProblem corrected(const BudgetProblem& problem, const std::vector<MeasuredMix>& measured) {
  BudgetProblem result = problem;
  const std::size_t n = measured.size();
  if (n == 0) return result;
  const auto chosen = [&](std::size_t m, std::size_t g) {
    return static_cast<std::size_t>(measured[m].choices[g]);
  };
  // Differences count in units of what was measured, or the worst mix would decide everything.
  std::vector<double> covariance(n * n, 0.0);
  std::vector<double> difference(n);
  for (std::size_t m = 0; m < n; ++m) {
    const double unit = std::max(measured[m].loss, 1e-12);
    difference[m] = (measured[m].loss - loss_of(problem, measured[m].choices)) / unit;
    for (std::size_t k = 0; k <= m; ++k) {
      double sum = 0.0;
      for (std::size_t g = 0; g < problem.loss.size(); ++g) {
        const double loss = problem.loss[g][chosen(m, g)];
        if (chosen(m, g) == chosen(k, g)) sum += loss * loss;
      }
      sum /= unit * std::max(measured[k].loss, 1e-12);
      covariance[m * n + k] = covariance[k * n + m] = sum;
    }
  }
  // A hundredth: what one more sample would change; keeps equal configurations solvable.
  constexpr double kNoise = 1e-4;
  for (std::size_t m = 0; m < n; ++m) covariance[m * n + m] += kNoise;
  const std::vector<double> weight = solve(std::move(covariance), std::move(difference));
  for (std::size_t g = 0; g < problem.loss.size(); ++g) {
    for (std::size_t m = 0; m < n; ++m) {
      const double loss = problem.loss[g][chosen(m, g)];
      result.loss[g][chosen(m, g)] += loss * loss * weight[m] / std::max(measured[m].loss, 1e-12);
    }
    // A choice is never better than no change at all.
    for (double& loss : result.loss[g]) loss = std::max(loss, 0.0);
  }
  return result;
}

}  // namespace bitsweep::allocate
