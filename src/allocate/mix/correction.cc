#include "allocate/mix/correction.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "allocate/mix/quality.h"
#include "allocate/mix/regression.h"

namespace bitsweep {
namespace {

using allocate::Belief;
using allocate::Freedom;
using allocate::Regression;

/// The problem with a share of its interactions.
BudgetProblem with_share(BudgetProblem problem, double share) {
  for (double& value : problem.interactions) value *= share;
  return problem;
}

/// Losses that add up: each choice also counts with a share of its interactions with what the other
/// groups have on average in the measured configurations. A share below zero takes away what points
/// the same way as all other changes: such errors saturate together.
BudgetProblem in_mean_field(BudgetProblem problem, const std::vector<MeasuredMix>& measured,
                            double share) {
  // What a choice loses never counts for nothing.
  constexpr double kLeastFactor = 0.05;
  const std::size_t n = problem.num_choices();
  std::vector<double> mean(n, 0.0);  // how often each choice was measured
  for (const MeasuredMix& mix : measured) {
    std::size_t offset = 0;
    for (std::size_t g = 0; g < problem.loss.size(); ++g) {
      mean[offset + static_cast<std::size_t>(mix.choices[g])] +=
          1.0 / static_cast<double>(measured.size());
      offset += problem.loss[g].size();
    }
  }
  std::size_t i = 0;
  for (std::vector<double>& losses : problem.loss) {
    const std::size_t begin = i;
    const std::size_t end = begin + losses.size();
    for (double& loss : losses) {
      double field = 0.0;
      for (std::size_t k = 0; k < n; ++k) {
        if (k < begin || k >= end) field += problem.interactions[i * n + k] * mean[k];
      }
      loss = std::max(loss + 2.0 * share * field, kLeastFactor * loss);
      ++i;
    }
  }
  problem.interactions.clear();
  return problem;
}

/// Mean of the beliefs, each as far as the measured configurations speak for it.
BudgetProblem mean_of(const std::vector<Belief>& beliefs, const std::vector<double>& log_weights) {
  // Losses that add up have a proof: what nothing speaks for must not make them interact.
  constexpr double kLeastWeight = 0.01;
  const double largest = *std::max_element(log_weights.begin(), log_weights.end());
  const auto weight_of = [&](std::size_t b) { return std::exp(log_weights[b] - largest); };
  double sum = 0.0;
  for (std::size_t b = 0; b < beliefs.size(); ++b)
    sum += weight_of(b) < kLeastWeight ? 0.0 : weight_of(b);
  BudgetProblem mean = beliefs.front().problem;
  for (auto& losses : mean.loss) std::fill(losses.begin(), losses.end(), 0.0);
  mean.interactions.clear();
  for (std::size_t b = 0; b < beliefs.size(); ++b) {
    if (weight_of(b) < kLeastWeight) continue;
    const double weight = weight_of(b) / sum;
    const BudgetProblem& problem = beliefs[b].problem;
    for (std::size_t g = 0; g < mean.loss.size(); ++g) {
      for (std::size_t c = 0; c < mean.loss[g].size(); ++c)
        mean.loss[g][c] += weight * problem.loss[g][c];
    }
    if (mean.interactions.empty()) mean.interactions.resize(problem.interactions.size());
    for (std::size_t i = 0; i < problem.interactions.size(); ++i)
      mean.interactions[i] += weight * problem.interactions[i];
  }
  return mean;
}

/// Interactions may not hold in whole configurations, or as a tendency only, and where single terms
/// explain nothing they would only be moved by chance. A few configurations cannot tell for sure,
/// so that all beliefs count.
BudgetProblem mean_belief(const BudgetProblem& problem, const std::vector<MeasuredMix>& measured) {
  // Single choices have many ways to explain a few configurations by chance.
  constexpr double kLogPriorOfChoices = -4.0;
  constexpr Freedom kFreedoms[] = {{},
                                   {.of_levels = 100.0},
                                   {100.0, 10.0, kLogPriorOfChoices},
                                   {100.0, 100.0, kLogPriorOfChoices}};
  constexpr double kLeastSquaredError = 1e-8;
  std::vector<Belief> beliefs;
  std::vector<double> log_weights;
  const auto believe = [&](const BudgetProblem& start) {
    const Regression regression(start, measured);
    for (const Freedom& freedom : kFreedoms) {
      const Belief& belief = beliefs.emplace_back(regression.fit(freedom));
      log_weights.push_back(freedom.log_prior -
                            0.5 * static_cast<double>(measured.size()) *
                                std::log(belief.squared_error + kLeastSquaredError));
    }
  };
  if (problem.interactions.empty()) {
    believe(problem);
  } else {
    for (const double share : {1.0, 0.75, 0.5, 0.25}) believe(with_share(problem, share));
    for (const double share : {1.0, 0.75, 0.5, 0.25, 0.0, -0.25, -0.5})
      believe(in_mean_field(problem, measured, share));
  }
  return mean_of(beliefs, log_weights);
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
  constexpr std::size_t kEnough = 5;
  constexpr Freedom kOfFew{.of_levels = 100.0, .of_choices = 100.0};
  if (finite.size() < kEnough) return Regression(problem, finite).fit(kOfFew).problem;
  return mean_belief(problem, finite);
}

}  // namespace bitsweep
