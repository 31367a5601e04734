#pragma once

#include <optional>
#include <vector>

#include "allocate/mix/whole_runs.h"
#include "bitsweep/budget.h"
#include "bitsweep/mix.h"

namespace bitsweep::allocate {

/// Whether all costs that a mix is asked about are known. @throws Error(kInvalidArgument).
void require_costs(const MixOptions& options);

/// The question of a mix, with what is known of its answer so far.
class MixTask {
 public:
  MixTask(const MixOptions& options, BudgetProblem base, WholeRuns& runs);

  const MixOptions& options() const { return options_; }
  /// Index of the cost that is minimised, or the axis of the curve.
  int cost() const { return cost_; }
  std::optional<double> wanted_db() const { return wanted_db_; }
  const std::vector<CostLimit>& limits() const { return limits_; }

  /// As predicted from groups that were run alone.
  const BudgetProblem& base() const { return base_; }
  /// As it looks after all runs of whole configurations.
  BudgetProblem corrected() const;
  /// The same by runs whose samples are weighted: for what has to hold on other samples.
  BudgetProblem corrected_by_weighted() const;
  /// For quick answers.
  BudgetOptions without_bound() const;

  double price(const std::vector<int>& choices) const;
  bool within_limits(const std::vector<int>& choices) const;

  /// Runs a configuration that `problem` proposed.
  const WholeRun& measure(const std::vector<int>& choices, const BudgetProblem& problem);
  /// Runs every candidate everywhere: what no mix may be worse than.
  void measure_uniform();
  const WholeRuns& runs() const { return runs_; }
  WholeRuns& runs() { return runs_; }
  /// The best measured configuration that meets the targets, a quality to the last digit that is
  /// printed; null when none does.
  const WholeRun* best() const;

 private:
  /// Of those within the limits with at least this quality.
  const WholeRun* best_from(double least_db) const;

  const MixOptions& options_;
  BudgetProblem base_;
  WholeRuns& runs_;
  int cost_;
  std::optional<double> wanted_db_;
  std::vector<CostLimit> limits_;
};

}  // namespace bitsweep::allocate
