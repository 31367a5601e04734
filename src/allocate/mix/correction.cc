#include "allocate/mix/correction.h"

#include <algorithm>
#include <cmath>

#include "allocate/mix/quality.h"

namespace bitsweep {
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

/// Ridge regression of the differences on the choices: what a choice loses beyond the best one of
/// its group may be wrong in proportion to itself, so the large terms that the wrongly predicted
/// configurations share move most. What all choices of a group lose decides nothing. How much of
/// the interactions holds in whole configurations is decided by the measured ones, too: each is
/// predicted from the others (leave one out). A factor of all losses comes first, since errors of a
/// whole network grow or saturate together. The more chance there is in what was measured, the less
/// the losses move.
///
/// Losses count as shares of what was measured, or the worst mix would decide everything.
class Regression {
 public:
  Regression(const BudgetProblem& problem, const std::vector<MeasuredMix>& measured)
      : problem_(problem), measured_(measured), chance_(allocate::chance_of(measured)) {
    BudgetProblem alone;
    alone.loss = problem.loss;
    for (const MeasuredMix& mix : measured) {
      loss_.push_back(allocate::loss_of_db(mix.db));
      alone_.push_back(loss_of(alone, mix.choices));
      together_.push_back(loss_of(problem, mix.choices) - alone_.back());
    }
    for (const auto& losses : problem.loss) {
      least_.push_back(*std::min_element(losses.begin(), losses.end()));
      common_ += least_.back() * least_.back();
    }
  }

  std::size_t chosen(std::size_t m, std::size_t g) const {
    return static_cast<std::size_t>(measured_[m].choices[g]);
  }
  /// What a choice loses beyond the best one of its group.
  double extra(std::size_t g, std::size_t choice) const {
    return problem_.loss[g][choice] - least_[g];
  }
  double unit(std::size_t m) const { return std::max(loss_[m], 1e-12); }

  /// The factor of all losses that explains what was measured best when this share of the
  /// interactions holds.
  double level(double share) const {
    // A single run says little about all others.
    constexpr double kPrior = 1.0;
    double product = kPrior;
    double square = kPrior;
    for (std::size_t m = 0; m < measured_.size(); ++m) {
      const double p = predicted(m, share);
      product += p * loss_[m] / (unit(m) * unit(m));
      square += p * p / (unit(m) * unit(m));
    }
    return std::max(product / square, 1e-3);
  }

  /// By measured configuration: how much of its terms' squares to add to them.
  std::vector<double> weights(double share) const {
    const double factor = level(share);
    return solve(covariance(factor), differences(share, factor));
  }

  /// Sum of the squared errors of each configuration predicted from all others.
  double error_left_out(double share) const {
    const std::size_t n = measured_.size();
    const double factor = level(share);
    const std::vector<double> matrix = covariance(factor);
    const std::vector<double> weight = solve(matrix, differences(share, factor));
    double sum = 0.0;
    for (std::size_t m = 0; m < n; ++m) {
      std::vector<double> one(n, 0.0);
      one[m] = 1.0;
      const double error = weight[m] / solve(matrix, one)[m];
      sum += error * error;
    }
    return sum;
  }

 private:
  double predicted(std::size_t m, double share) const { return alone_[m] + share * together_[m]; }

  /// What is left to explain.
  std::vector<double> differences(double share, double factor) const {
    std::vector<double> result;
    for (std::size_t m = 0; m < measured_.size(); ++m)
      result.push_back((loss_[m] - factor * predicted(m, share)) / unit(m));
    return result;
  }

  std::vector<double> covariance(double factor) const {
    const std::size_t n = measured_.size();
    std::vector<double> matrix(n * n);
    for (std::size_t m = 0; m < n; ++m) {
      for (std::size_t k = 0; k <= m; ++k) {
        double sum = common_;
        for (std::size_t g = 0; g < problem_.loss.size(); ++g) {
          const double loss = extra(g, chosen(m, g));
          if (chosen(m, g) == chosen(k, g)) sum += loss * loss;
        }
        matrix[m * n + k] = matrix[k * n + m] = factor * factor * sum / (unit(m) * unit(k));
      }
      matrix[m * n + m] += chance_;
    }
    return matrix;
  }

  const BudgetProblem& problem_;
  const std::vector<MeasuredMix>& measured_;
  double chance_;
  std::vector<double> loss_;      // by measured configuration
  std::vector<double> alone_;     // by measured configuration: sum of its losses
  std::vector<double> together_;  // and of its interactions
  std::vector<double> least_;     // by group
  double common_ = 0.0;           // sum of their squares
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

namespace allocate {

double chance_of(const std::vector<MeasuredMix>& measured) {
  // A hundredth of the loss is what nothing is known better than.
  constexpr double kLeast = 1e-4;
  if (measured.size() < 2 || measured.front().without_db.empty()) return kLeast;
  const std::size_t n = measured.front().without_db.size();
  std::vector<double> mean(n, 0.0);
  for (const MeasuredMix& mix : measured) {
    for (std::size_t i = 0; i < n; ++i)
      mean[i] += mix.without_db[i] / static_cast<double>(measured.size());
  }
  std::vector<double> chances;
  for (const MeasuredMix& mix : measured) {
    double sum = 0.0;
    double center = 0.0;
    for (std::size_t i = 0; i < n; ++i)
      center += (mix.without_db[i] - mean[i]) / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double d = kNepersPerDb * (mix.without_db[i] - mean[i] - center);
      sum += d * d;
    }
    chances.push_back(sum);
  }
  // The middle one: a few configurations of very few bits would decide the mean alone.
  const auto middle = chances.begin() + static_cast<std::ptrdiff_t>(chances.size() / 2);
  std::nth_element(chances.begin(), middle, chances.end());
  const double samples = static_cast<double>(n);
  const double count = static_cast<double>(measured.size());
  return std::max(kLeast, (samples - 1.0) / samples * *middle * count / (count - 1.0));
}

}  // namespace allocate

BudgetProblem corrected_problem(const BudgetProblem& problem,
                                const std::vector<MeasuredMix>& measured) {
  BudgetProblem result = problem;
  if (measured.empty()) return result;
  const Regression regression(problem, measured);
  const double share = share_of_interactions(problem, regression, measured.size());
  const double level = regression.level(share);
  // Losses that add up have a proof.
  if (share == 0.0) result.interactions.clear();
  for (double& value : result.interactions) value *= level * share;
  const std::vector<double> weight = regression.weights(share);
  for (std::size_t g = 0; g < problem.loss.size(); ++g) {
    for (double& loss : result.loss[g]) loss *= level;
    for (std::size_t m = 0; m < measured.size(); ++m) {
      const std::size_t c = regression.chosen(m, g);
      const double extra = level * regression.extra(g, c);
      result.loss[g][c] += extra * extra * weight[m] / regression.unit(m);
    }
    // A choice is never better than no change at all.
    for (double& loss : result.loss[g]) loss = std::max(loss, 0.0);
  }
  return result;
}

}  // namespace bitsweep
