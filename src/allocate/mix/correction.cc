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

/// Losses as shares of what was measured, or the worst mix would decide everything.
class Regression {
 public:
  Regression(const BudgetProblem& problem, const std::vector<MeasuredMix>& measured)
      : problem_(problem), measured_(measured), covariance_(measured.size() * measured.size()) {
    const std::size_t n = measured.size();
    for (std::size_t m = 0; m < n; ++m) {
      for (std::size_t k = 0; k <= m; ++k) {
        double sum = 0.0;
        for (std::size_t g = 0; g < problem.loss.size(); ++g) {
          const double loss = problem.loss[g][chosen(m, g)];
          if (chosen(m, g) == chosen(k, g)) sum += loss * loss;
        }
        covariance_[m * n + k] = covariance_[k * n + m] = sum / (unit(m) * unit(k));
      }
    }
    // A hundredth: what one more sample would change; keeps equal configurations solvable.
    constexpr double kNoise = 1e-4;
    for (std::size_t m = 0; m < n; ++m) covariance_[m * n + m] += kNoise;
  }

  std::size_t chosen(std::size_t m, std::size_t g) const {
    return static_cast<std::size_t>(measured_[m].choices[g]);
  }
  double unit(std::size_t m) const { return std::max(measured_[m].loss, 1e-12); }

  /// What is left to explain when this share of the interactions holds.
  std::vector<double> differences(double share) const {
    BudgetProblem additive;
    additive.loss = problem_.loss;
    std::vector<double> result;
    for (std::size_t m = 0; m < measured_.size(); ++m) {
      const double whole = loss_of(problem_, measured_[m].choices);
      const double alone = loss_of(additive, measured_[m].choices);
      result.push_back((measured_[m].loss - alone - share * (whole - alone)) / unit(m));
    }
    return result;
  }

  std::vector<double> weights(double share) const { return solve(covariance_, differences(share)); }

  /// Sum of the squared errors of each configuration predicted from all others.
  double error_left_out(double share) const {
    const std::size_t n = measured_.size();
    const std::vector<double> weight = weights(share);
    double sum = 0.0;
    for (std::size_t m = 0; m < n; ++m) {
      std::vector<double> one(n, 0.0);
      one[m] = 1.0;
      const double error = weight[m] / solve(covariance_, one)[m];
      sum += error * error;
    }
    return sum;
  }

 private:
  const BudgetProblem& problem_;
  const std::vector<MeasuredMix>& measured_;
  std::vector<double> covariance_;
};

/// 1 unless the measured configurations say otherwise.
double share_of_interactions(const BudgetProblem& problem, const Regression& regression,
                             std::size_t num_measured) {
  constexpr std::size_t kEnough = 5;
  if (problem.interactions.empty() || num_measured < kEnough) return 1.0;
  double best = 1.0;
  double least = regression.error_left_out(best);
  for (const double share : {0.75, 0.5, 0.25, 0.0}) {
    const double error = regression.error_left_out(share);
    if (error >= least) continue;
    least = error;
    best = share;
  }
  return best;
}

}  // namespace

BudgetProblem corrected(const BudgetProblem& problem, const std::vector<MeasuredMix>& measured) {
  BudgetProblem result = problem;
  if (measured.empty()) return result;
  const Regression regression(problem, measured);
  const double share = share_of_interactions(problem, regression, measured.size());
  for (double& value : result.interactions) value *= share;
  const std::vector<double> weight = regression.weights(share);
  for (std::size_t g = 0; g < problem.loss.size(); ++g) {
    for (std::size_t m = 0; m < measured.size(); ++m) {
      const std::size_t c = regression.chosen(m, g);
      const double loss = problem.loss[g][c];
      result.loss[g][c] += loss * loss * weight[m] / regression.unit(m);
    }
    // A choice is never better than no change at all.
    for (double& loss : result.loss[g]) loss = std::max(loss, 0.0);
  }
  return result;
}

}  // namespace bitsweep::allocate
