#include "allocate/mix/correction.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

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

/// A way to predict whole configurations, learnt from the measured ones.
struct Fit {
  double share = 1.0;  ///< of the interactions
  double trust = 0.0;  ///< variance of what single choices lose, in that of what is unexplained
  double level = 1.0;
  std::vector<double> weights;          ///< by measured configuration
  std::vector<double> errors_left_out;  ///< squared, of each predicted from the others
};

/// Regression of the logarithms of measured over predicted losses, by three kinds of terms: what
/// the best choice of each group loses and decides nothing, what the others lose beyond it (errors
/// of a whole network grow or saturate together), and what each choice loses beyond the best one of
/// its group. Each may be wrong in proportion to itself, so the large terms that wrongly predicted
/// configurations share move most.
///
/// Logarithms, or the worst mix would decide everything.
class Regression {
 public:
  Regression(const BudgetProblem& problem, const std::vector<MeasuredMix>& measured)
      : problem_(problem), measured_(measured) {
    BudgetProblem alone;
    alone.loss = problem.loss;
    for (const auto& losses : problem.loss) {
      least_.push_back(*std::min_element(losses.begin(), losses.end()));
      base_ += least_.back();
    }
    for (const MeasuredMix& mix : measured) {
      loss_.push_back(allocate::loss_of_db(mix.db));
      alone_.push_back(loss_of(alone, mix.choices));
      together_.push_back(loss_of(problem, mix.choices) - alone_.back());
    }
  }

  Fit fit(double share, double trust) const {
    // A single run says little about all others.
    constexpr double kPrior = 1.0;
    const std::size_t n = measured_.size();
    std::vector<double> ratios;
    double sum = 0.0;
    for (std::size_t m = 0; m < n; ++m)
      sum += ratios.emplace_back(std::log(loss_[m] / predicted(m, share)));
    Fit result{.share = share, .trust = trust, .weights = {}, .errors_left_out = {}};
    const double level = sum / (static_cast<double>(n) + kPrior);
    result.level = std::exp(level);
    for (double& ratio : ratios) ratio -= level;
    const std::vector<double> matrix = covariance(share, trust);
    result.weights = solve(matrix, ratios);
    for (std::size_t m = 0; m < n; ++m) {
      std::vector<double> one(n, 0.0);
      one[m] = 1.0;
      const double error = result.weights[m] / solve(matrix, one)[m];
      result.errors_left_out.push_back(error * error);
    }
    return result;
  }

  BudgetProblem corrected(const Fit& fit) const {
    // What is lost beyond the best choices never counts for nothing.
    constexpr double kLeastFactor = 0.05;
    std::vector<double> weight;  // in units of losses
    double base_factor = 1.0;
    double factor = 1.0;
    for (std::size_t m = 0; m < measured_.size(); ++m) {
      weight.push_back(fit.weights[m] / predicted(m, fit.share));
      const double both = variance_of_levels(fit.trust) * weight.back();
      base_factor += both * base_;
      factor += both * beyond(m, fit.share);
    }
    base_factor = std::max(base_factor, 0.0);
    factor = std::max(factor, kLeastFactor);
    BudgetProblem result = problem_;
    // Losses that add up have a proof.
    if (fit.share == 0.0) result.interactions.clear();
    for (double& value : result.interactions) value *= fit.level * factor * fit.share;
    for (std::size_t g = 0; g < least_.size(); ++g) {
      std::vector<double>& losses = result.loss[g];
      for (std::size_t c = 0; c < losses.size(); ++c)
        losses[c] = base_factor * least_[g] + factor * extra(g, c);
      for (std::size_t m = 0; m < measured_.size(); ++m) {
        const std::size_t c = chosen(m, g);
        losses[c] += fit.trust * extra(g, c) * extra(g, c) * weight[m];
      }
      // A choice is never better than no change at all.
      for (double& loss : losses) loss = std::max(fit.level * loss, 0.0);
    }
    return result;
  }

 private:
  std::size_t chosen(std::size_t m, std::size_t g) const {
    return static_cast<std::size_t>(measured_[m].choices[g]);
  }
  /// What a choice loses beyond the best one of its group.
  double extra(std::size_t g, std::size_t choice) const {
    return problem_.loss[g][choice] - least_[g];
  }
  double predicted(std::size_t m, double share) const {
    // Interactions of few samples can cancel everything.
    return std::max({alone_[m] + share * together_[m], 1e-3 * alone_[m], 1e-12});
  }
  double beyond(std::size_t m, double share) const { return predicted(m, share) - base_; }
  /// Both levels are fitted nearly freely, or not at all.
  static double variance_of_levels(double trust) { return trust > 0.0 ? 100.0 : 0.0; }

  /// In units of what is unexplained.
  std::vector<double> covariance(double share, double trust) const {
    const std::size_t n = measured_.size();
    const double of_levels = variance_of_levels(trust);
    std::vector<double> matrix(n * n);
    for (std::size_t m = 0; m < n; ++m) {
      for (std::size_t k = 0; k <= m; ++k) {
        double sum = of_levels * (base_ * base_ + beyond(m, share) * beyond(k, share));
        for (std::size_t g = 0; g < least_.size(); ++g) {
          const double loss = extra(g, chosen(m, g));
          if (chosen(m, g) == chosen(k, g)) sum += trust * loss * loss;
        }
        matrix[m * n + k] = matrix[k * n + m] = sum / (predicted(m, share) * predicted(k, share));
      }
      matrix[m * n + m] += 1.0;
    }
    return matrix;
  }

  const BudgetProblem& problem_;
  const std::vector<MeasuredMix>& measured_;
  std::vector<double> loss_;      // of the measured ones: measured,
  std::vector<double> alone_;     // predicted of the choices alone,
  std::vector<double> together_;  // and of their interactions
  std::vector<double> least_;     // by group
  double base_ = 0.0;             // their sum
};

/// Whether the measured configurations are predicted better, beyond half a standard error.
bool is_better(const Fit& one, const Fit& other) {
  constexpr double kStandardErrors = 0.5;
  const auto n = static_cast<double>(one.errors_left_out.size());
  double mean = 0.0;
  double square = 0.0;
  for (std::size_t m = 0; m < one.errors_left_out.size(); ++m) {
    const double gain = other.errors_left_out[m] - one.errors_left_out[m];
    mean += gain / n;
    square += gain * gain / n;
  }
  return mean > kStandardErrors * std::sqrt((square - mean * mean) / (n - 1.0));
}

/// Of simple and less simple ways to predict the one that predicts each measured configuration from
/// the others best: interactions may not hold in whole configurations, and where single terms
/// explain nothing they would only be moved by chance.
Fit best_fit(const Regression& regression, bool interacting, std::size_t num_measured) {
  constexpr std::size_t kEnough = 5;
  constexpr double kTrusts[] = {0.0, 10.0, 100.0};
  if (num_measured < kEnough) return regression.fit(1.0, kTrusts[2]);
  std::optional<Fit> best;
  for (const double trust : kTrusts) {
    for (const double share : {1.0, 0.75, 0.5, 0.25, 0.0}) {
      if (!interacting && share > 0.0) continue;
      Fit fit = regression.fit(share, trust);
      if (!best || is_better(fit, *best)) best = std::move(fit);
    }
  }
  return *best;
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
  std::vector<MeasuredMix> finite;  // NaN and infinite outputs are no sum of anything
  std::copy_if(measured.begin(), measured.end(), std::back_inserter(finite),
               [](const MeasuredMix& mix) { return !allocate::is_not_finite(mix.db); });
  if (finite.empty()) return problem;
  const Regression regression(problem, finite);
  return regression.corrected(best_fit(regression, !problem.interactions.empty(), finite.size()));
}

}  // namespace bitsweep
