#pragma once

#include <cstddef>
#include <vector>

#include "bitsweep/mix.h"

namespace bitsweep::allocate {

/// By group, of each choice.
using ChoiceLosses = std::vector<std::vector<double>>;

/// How far the terms of a regression may move: variances, in that of what is unexplained.
struct Freedom {
  double of_levels = 0.0;   ///< of what the best choices lose, and of what the others lose beyond
  double of_choices = 0.0;  ///< of what each choice loses beyond the best one of its group
  double log_prior = 0.0;
};

/// What a regression found.
struct Fit {
  Freedom freedom;
  double level = 1.0;           ///< of all losses
  double base_factor = 1.0;     ///< beside it, of what the best choices lose
  double factor = 1.0;          ///< and of what the others lose beyond, interactions included
  std::vector<double> weights;  ///< of the measured configurations in what choices lose
  double squared_error = 0.0;   ///< mean, of logarithms, each predicted from the others
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
  /// `together`: what each measured configuration loses by interactions. `measured` has to outlive
  /// this.
  Regression(ChoiceLosses losses, const std::vector<double>& together,
             const std::vector<MeasuredMix>& measured);

  Fit fit(const Freedom& freedom) const;
  ChoiceLosses corrected(const Fit& fit) const;

 private:
  /// In units of what is unexplained.
  std::vector<double> covariance(const Freedom& freedom) const;
  std::size_t chosen(std::size_t m, std::size_t g) const;
  /// What a choice loses beyond the best one of its group.
  double extra(std::size_t g, std::size_t choice) const;
  double beyond(std::size_t m) const;

  ChoiceLosses losses_;
  const std::vector<MeasuredMix>& measured_;
  std::vector<double> loss_;       // of the measured ones: measured,
  std::vector<double> predicted_;  // and predicted
  std::vector<double> least_;      // by group
  double base_ = 0.0;              // their sum
};

}  // namespace bitsweep::allocate
