#include "allocate/mix/correction.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "allocate/budget/configuration.h"
#include "allocate/mix/quality.h"
#include "allocate/mix/regression.h"

namespace bitsweep {
namespace {

using allocate::ChoiceLosses;
using allocate::Fit;
using allocate::Freedom;
using allocate::Regression;

/// What each measured configuration loses by interactions.
std::vector<double> losses_together(const BudgetProblem& problem,
                                    const std::vector<MeasuredMix>& measured) {
  std::vector<double> together;
  for (const MeasuredMix& mix : measured) {
    double alone = 0.0;
    for (std::size_t g = 0; g < problem.loss.size(); ++g)
      alone += problem.loss[g][static_cast<std::size_t>(mix.choices[g])];
    together.push_back(loss_of(problem, mix.choices) - alone);
  }
  return together;
}

std::vector<double> times(double factor, std::vector<double> values) {
  for (double& value : values) value *= factor;
  return values;
}

/// Of each choice: what its interactions with what the other groups have on average in the measured
/// configurations lose.
ChoiceLosses mean_field(const BudgetProblem& problem, const std::vector<MeasuredMix>& measured) {
  const std::size_t n = problem.num_choices();
  const std::vector<std::size_t> offsets = allocate::choice_offsets(problem);
  std::vector<double> mean(n, 0.0);  // how often each choice was measured
  for (const MeasuredMix& mix : measured) {
    for (std::size_t g = 0; g < problem.loss.size(); ++g)
      mean[offsets[g] + static_cast<std::size_t>(mix.choices[g])] +=
          1.0 / static_cast<double>(measured.size());
  }
  ChoiceLosses field = problem.loss;
  for (std::size_t g = 0; g < field.size(); ++g) {
    const std::size_t begin = offsets[g];
    const std::size_t end = begin + field[g].size();
    for (std::size_t i = begin; i < end; ++i) {
      double& value = field[g][i - begin];
      value = 0.0;
      for (std::size_t k = 0; k < n; ++k) {
        if (k < begin || k >= end) value += 2.0 * problem.interactions[i * n + k] * mean[k];
      }
    }
  }
  return field;
}

/// Losses that add up, each with a share of the mean field. A share below zero takes away what
/// points the same way as all other changes: such errors saturate together.
ChoiceLosses with_field(ChoiceLosses losses, const ChoiceLosses& field, double share) {
  // What a choice loses never counts for nothing.
  constexpr double kLeastFactor = 0.05;
  for (std::size_t g = 0; g < losses.size(); ++g) {
    for (std::size_t c = 0; c < losses[g].size(); ++c)
      losses[g][c] = std::max(losses[g][c] + share * field[g][c], kLeastFactor * losses[g][c]);
  }
  return losses;
}

/// A way to predict whole configurations, learnt from the measured ones.
struct Belief {
  std::size_t regression = 0;
  double share = 0.0;  ///< of the interactions, before the fit
  Fit fit;
  double log_weight = 0.0;  ///< as far as the measured configurations speak for it
};

/// All ways to predict. Interactions may not hold in whole configurations, or as a tendency only,
/// and where single terms explain nothing they would only be moved by chance. A few configurations
/// cannot tell for sure, so that all beliefs count.
class Beliefs {
 public:
  Beliefs(const BudgetProblem& problem, const std::vector<MeasuredMix>& measured)
      : problem_(problem), measured_(measured) {
    const std::vector<double> together = losses_together(problem, measured);
    if (problem.interactions.empty()) {
      add(0.0, problem.loss, together);
    } else {
      for (const double share : {1.0, 0.75, 0.5, 0.25})
        add(share, problem.loss, times(share, together));
      const ChoiceLosses field = mean_field(problem, measured);
      for (const double share : {1.0, 0.75, 0.5, 0.25, 0.0, -0.25, -0.5})
        add(0.0, with_field(problem.loss, field, share), times(0.0, together));
    }
  }

  /// Their mean.
  BudgetProblem mean() const {
    // Losses that add up have a proof: what nothing speaks for must not make them interact.
    constexpr double kLeastWeight = 0.01;
    double largest = beliefs_.front().log_weight;
    for (const Belief& belief : beliefs_) largest = std::max(largest, belief.log_weight);
    std::vector<double> weights;
    double sum = 0.0;
    for (const Belief& belief : beliefs_) {
      const double weight = std::exp(belief.log_weight - largest);
      sum += weights.emplace_back(weight < kLeastWeight ? 0.0 : weight);
    }
    BudgetProblem result = problem_;
    for (auto& losses : result.loss) std::fill(losses.begin(), losses.end(), 0.0);
    double of_interactions = 0.0;
    for (std::size_t b = 0; b < beliefs_.size(); ++b) {
      if (weights[b] == 0.0) continue;
      const double weight = weights[b] / sum;
      const auto& [regression, share, fit, log_weight] = beliefs_[b];
      const ChoiceLosses losses = regressions_[regression].corrected(fit);
      for (std::size_t g = 0; g < losses.size(); ++g) {
        for (std::size_t c = 0; c < losses[g].size(); ++c)
          result.loss[g][c] += weight * losses[g][c];
      }
      of_interactions += weight * fit.level * fit.factor * share;
    }
    if (of_interactions == 0.0) result.interactions.clear();
    for (double& value : result.interactions) value *= of_interactions;
    return result;
  }

 private:
  void add(double share, const ChoiceLosses& losses, const std::vector<double>& together) {
    constexpr Freedom kNone;
    constexpr Freedom kLevels{.of_levels = 100.0};
    add_fits(share, losses, together, {kNone, kLevels});
    // Single choices are told from each other around what the levels predict: a regression holds
    // for small steps only, and levels may be wrong by a factor of ten. They have many ways to
    // explain a few configurations by chance.
    constexpr double kLogPrior = -2.0;
    const Fit& levels = beliefs_.back().fit;
    const double of_interactions = levels.level * levels.factor;
    add_fits(share * of_interactions, regressions_.back().corrected(levels),
             times(of_interactions, together),
             {{.of_levels = 100.0, .of_choices = 10.0, .log_prior = kLogPrior},
              {.of_levels = 100.0, .of_choices = 100.0, .log_prior = kLogPrior}});
  }

  void add_fits(double share, ChoiceLosses losses, const std::vector<double>& together,
                std::initializer_list<Freedom> freedoms) {
    constexpr double kLeastSquaredError = 1e-8;
    regressions_.emplace_back(std::move(losses), together, measured_);
    for (const Freedom& freedom : freedoms) {
      Fit fit = regressions_.back().fit(freedom);
      const double log_weight =
          freedom.log_prior - 0.5 * static_cast<double>(measured_.size()) *
                                  std::log(fit.squared_error + kLeastSquaredError);
      beliefs_.push_back({regressions_.size() - 1, share, std::move(fit), log_weight});
    }
  }

  const BudgetProblem& problem_;
  const std::vector<MeasuredMix>& measured_;
  std::vector<Regression> regressions_;
  std::vector<Belief> beliefs_;
};

/// Where there are too few configurations to choose by: both may move.
BudgetProblem moved_by_few(const BudgetProblem& problem, const std::vector<MeasuredMix>& measured) {
  constexpr Freedom kFreedom{.of_levels = 100.0, .of_choices = 100.0, .log_prior = 0.0};
  const Regression regression(problem.loss, losses_together(problem, measured), measured);
  const Fit fit = regression.fit(kFreedom);
  BudgetProblem result = problem;
  result.loss = regression.corrected(fit);
  for (double& value : result.interactions) value *= fit.level * fit.factor;
  return result;
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
  constexpr std::size_t kEnough = 5;
  std::vector<MeasuredMix> finite;  // NaN and infinite outputs are no sum of anything
  std::copy_if(measured.begin(), measured.end(), std::back_inserter(finite),
               [](const MeasuredMix& mix) { return !allocate::is_not_finite(mix.db); });
  if (finite.empty()) return problem;
  if (finite.size() < kEnough) return moved_by_few(problem, finite);
  return Beliefs(problem, finite).mean();
}

}  // namespace bitsweep
