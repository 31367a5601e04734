#include "allocate/mix/regression.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "allocate/mix/quality.h"

namespace bitsweep::allocate {
namespace {

/// The triangular factor of a small symmetric positive definite matrix.
class Cholesky {
 public:
  Cholesky(std::vector<double> matrix, std::size_t n) : n_(n), factor_(std::move(matrix)) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = j; i < n; ++i) {
        double sum = factor_[i * n + j];
        for (std::size_t k = 0; k < j; ++k) sum -= factor_[i * n + k] * factor_[j * n + k];
        factor_[i * n + j] = i == j ? std::sqrt(sum) : sum / factor_[j * n + j];
      }
    }
  }

  /// Of the system with this right side.
  std::vector<double> solve(std::vector<double> right) const {
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t k = 0; k < i; ++k) right[i] -= factor_[i * n_ + k] * right[k];
      right[i] /= factor_[i * n_ + i];
    }
    for (std::size_t i = n_; i-- > 0;) {
      for (std::size_t k = i + 1; k < n_; ++k) right[i] -= factor_[k * n_ + i] * right[k];
      right[i] /= factor_[i * n_ + i];
    }
    return right;
  }

 private:
  std::size_t n_;
  std::vector<double> factor_;
};

}  // namespace

Regression::Regression(ChoiceLosses losses, const std::vector<double>& together,
                       const std::vector<MeasuredMix>& measured)
    : losses_(std::move(losses)), measured_(measured) {
  for (const auto& of_group : losses_) {
    least_.push_back(*std::min_element(of_group.begin(), of_group.end()));
    base_ += least_.back();
  }
  for (std::size_t m = 0; m < measured.size(); ++m) {
    double alone = 0.0;
    for (std::size_t g = 0; g < losses_.size(); ++g) alone += losses_[g][chosen(m, g)];
    loss_.push_back(loss_of_db(measured[m].db));
    // Interactions of few samples can cancel everything.
    predicted_.push_back(std::max({alone + together[m], 1e-3 * alone, 1e-12}));
  }
}

Fit Regression::fit(const Freedom& freedom) const {
  // A single run says little about all others.
  constexpr double kPrior = 1.0;
  // What is lost beyond the best choices never counts for nothing.
  constexpr double kLeastFactor = 0.05;
  const std::size_t n = measured_.size();
  std::vector<double> ratios;
  double sum = 0.0;
  for (std::size_t m = 0; m < n; ++m)
    sum += ratios.emplace_back(std::log(loss_[m] / predicted_[m]));
  const double level = sum / (static_cast<double>(n) + kPrior);
  for (double& ratio : ratios) ratio -= level;
  const Cholesky system(covariance(freedom), n);
  Fit fit{.freedom = freedom, .level = std::exp(level), .weights = system.solve(ratios)};
  for (std::size_t m = 0; m < n; ++m) {
    std::vector<double> one(n, 0.0);
    one[m] = 1.0;
    const double error = fit.weights[m] / system.solve(std::move(one))[m];
    fit.squared_error += error * error / static_cast<double>(n);
  }
  for (std::size_t m = 0; m < n; ++m) {
    fit.weights[m] /= predicted_[m];  // in units of losses
    fit.base_factor += freedom.of_levels * fit.weights[m] * base_;
    fit.factor += freedom.of_levels * fit.weights[m] * beyond(m);
  }
  fit.base_factor = std::max(fit.base_factor, 0.0);
  fit.factor = std::max(fit.factor, kLeastFactor);
  return fit;
}

ChoiceLosses Regression::corrected(const Fit& fit) const {
  ChoiceLosses result = losses_;
  for (std::size_t g = 0; g < result.size(); ++g) {
    for (std::size_t c = 0; c < result[g].size(); ++c)
      result[g][c] = fit.base_factor * least_[g] + fit.factor * extra(g, c);
    for (std::size_t m = 0; m < measured_.size(); ++m) {
      const std::size_t c = chosen(m, g);
      result[g][c] += fit.freedom.of_choices * extra(g, c) * extra(g, c) * fit.weights[m];
    }
    // A choice is never better than no change at all.
    for (double& loss : result[g]) loss = std::max(fit.level * loss, 0.0);
  }
  return result;
}

std::vector<double> Regression::covariance(const Freedom& freedom) const {
  const std::size_t n = measured_.size();
  std::vector<double> matrix(n * n);
  for (std::size_t m = 0; m < n; ++m) {
    for (std::size_t k = 0; k <= m; ++k) {
      double sum = freedom.of_levels * (base_ * base_ + beyond(m) * beyond(k));
      for (std::size_t g = 0; freedom.of_choices > 0.0 && g < least_.size(); ++g) {
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
  return losses_[g][choice] - least_[g];
}

double Regression::beyond(std::size_t m) const { return predicted_[m] - base_; }

}  // namespace bitsweep::allocate
