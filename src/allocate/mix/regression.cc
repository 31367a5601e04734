#include "allocate/mix/regression.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "allocate/mix/quality.h"

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

Regression::Regression(const BudgetProblem& problem, const std::vector<MeasuredMix>& measured)
    : problem_(problem), measured_(measured) {
  BudgetProblem alone;
  alone.loss = problem.loss;
  for (const auto& losses : problem.loss) {
    least_.push_back(*std::min_element(losses.begin(), losses.end()));
    base_ += least_.back();
  }
  for (const MeasuredMix& mix : measured) {
    loss_.push_back(allocate::loss_of_db(mix.db));
    // Interactions of few samples can cancel everything.
    predicted_.push_back(
        std::max({loss_of(problem, mix.choices), 1e-3 * loss_of(alone, mix.choices), 1e-12}));
  }
}

Belief Regression::fit(const Freedom& freedom) const {
  // A single run says little about all others.
  constexpr double kPrior = 1.0;
  const std::size_t n = measured_.size();
  std::vector<double> ratios;
  double sum = 0.0;
  for (std::size_t m = 0; m < n; ++m)
    sum += ratios.emplace_back(std::log(loss_[m] / predicted_[m]));
  const double level = sum / (static_cast<double>(n) + kPrior);
  for (double& ratio : ratios) ratio -= level;
  const std::vector<double> matrix = covariance(freedom);
  const std::vector<double> weights = solve(matrix, ratios);
  Belief result{.problem = corrected(std::exp(level), freedom, weights), .squared_error = 0.0};
  for (std::size_t m = 0; m < n; ++m) {
    std::vector<double> one(n, 0.0);
    one[m] = 1.0;
    const double error = weights[m] / solve(matrix, one)[m];
    result.squared_error += error * error / static_cast<double>(n);
  }
  return result;
}

BudgetProblem Regression::corrected(double level, const Freedom& freedom,
                                    std::vector<double> weights) const {
  // What is lost beyond the best choices never counts for nothing.
  constexpr double kLeastFactor = 0.05;
  double base_factor = 1.0;
  double factor = 1.0;
  for (std::size_t m = 0; m < measured_.size(); ++m) {
    weights[m] /= predicted_[m];  // in units of losses
    const double both = freedom.of_levels * weights[m];
    base_factor += both * base_;
    factor += both * beyond(m);
  }
  base_factor = std::max(base_factor, 0.0);
  factor = std::max(factor, kLeastFactor);
  BudgetProblem result = problem_;
  for (double& value : result.interactions) value *= level * factor;
  for (std::size_t g = 0; g < least_.size(); ++g) {
    std::vector<double>& losses = result.loss[g];
    for (std::size_t c = 0; c < losses.size(); ++c)
      losses[c] = base_factor * least_[g] + factor * extra(g, c);
    for (std::size_t m = 0; m < measured_.size(); ++m) {
      const std::size_t c = chosen(m, g);
      losses[c] += freedom.of_choices * extra(g, c) * extra(g, c) * weights[m];
    }
    // A choice is never better than no change at all.
    for (double& loss : losses) loss = std::max(level * loss, 0.0);
  }
  return result;
}

std::vector<double> Regression::covariance(const Freedom& freedom) const {
  const std::size_t n = measured_.size();
  std::vector<double> matrix(n * n);
  for (std::size_t m = 0; m < n; ++m) {
    for (std::size_t k = 0; k <= m; ++k) {
      double sum = freedom.of_levels * (base_ * base_ + beyond(m) * beyond(k));
      for (std::size_t g = 0; g < least_.size(); ++g) {
        const double loss = extra(g, chosen(m, g));
        if (chosen(m, g) == chosen(k, g)) sum += freedom.of_choices * loss * loss;
      }
      matrix[m * n + k] = matrix[k * n + m] = sum / (predicted_[m] * predicted_[k]);
    }
    matrix[m * n + m] += 1.0;
  }
  return matrix;
}

std::size_t Regression::chosen(std::size_t m, std::size_t g) const {
  return static_cast<std::size_t>(measured_[m].choices[g]);
}

double Regression::extra(std::size_t g, std::size_t choice) const {
  return problem_.loss[g][choice] - least_[g];
}

double Regression::beyond(std::size_t m) const { return predicted_[m] - base_; }

}  // namespace bitsweep::allocate
