#include "allocate/mix/mix_task.h"

#include <algorithm>

#include "allocate/budget/descent.h"
#include "allocate/costs/latency.h"
#include "allocate/mix/mix_groups.h"
#include "allocate/mix/quality.h"
#include "bitsweep/error.h"

namespace bitsweep::allocate {
void require_costs(const MixOptions& options) {
  std::vector<std::string> names = {options.cost};
  const bool has_float =
      std::any_of(options.candidates.begin(), options.candidates.end(),
                  [](const Candidate& c) { return c.activation == Format::parse("float32"); });
  for (const MixTarget& target : options.targets) {
    if (target.at_least) continue;
    names.push_back(target.name);
    if (target.name == "bops" && target.value > 1.0 && !has_float) {
      throw Error(ErrorCode::kInvalidArgument, "mix",
                  "a share of bops above 1 is out of range without the candidate float",
                  "write for example \"bops<=0.6\"");
    }
  }
  if (!options.latency_table.empty()) LatencyTable(options.latency_table);  // what is wrong in it
  for (const std::string& name : names) {
    mix_cost_index(name);
    if (name == "latency" && options.latency_table.empty()) {
      throw Error(ErrorCode::kInvalidArgument, "mix", "the cost \"latency\" has no table",
                  "give a CSV file with the times of operators");
    }
  }
}

MixTask::MixTask(const MixOptions& options, BudgetProblem base, WholeRuns& runs)
    : options_(options),
      base_(std::move(base)),
      runs_(runs),
      cost_(static_cast<int>(mix_cost_index(options.cost))) {
  for (const MixTarget& target : options.targets) {
    if (target.at_least) {
      wanted_db_ = std::max(wanted_db_.value_or(target.value), target.value);
    } else {
      limits_.push_back({static_cast<int>(mix_cost_index(target.name)), target.value});
    }
  }
}

BudgetProblem MixTask::corrected() const { return corrected_problem(base_, runs_.measured()); }

BudgetProblem MixTask::corrected_by_weighted() const {
  return corrected_problem(base_, runs_.weighted());
}

BudgetOptions MixTask::without_bound() const {
  BudgetOptions options = options_.budget;
  options.bound = false;
  return options;
}

double MixTask::price(const std::vector<int>& choices) const {
  return cost_of(base_.costs[static_cast<std::size_t>(cost_)], choices);
}

bool MixTask::within_limits(const std::vector<int>& choices) const {
  return std::all_of(limits_.begin(), limits_.end(), [&](const CostLimit& l) {
    return cost_of(base_.costs[static_cast<std::size_t>(l.cost)], choices) <=
           l.at_most * (1.0 + 1e-8);
  });
}

const WholeRun& MixTask::measure(const std::vector<int>& choices, const BudgetProblem& problem) {
  return runs_.measure(choices, db_of(loss_of(problem, choices)));
}

void MixTask::measure_uniform() {
  for (const std::vector<int>& choices : uniform_choices(runs_.groups(), best_choices(base_)))
    measure(choices, base_);
}

const WholeRun* MixTask::best() const {
  const WholeRun* best = best_from(wanted_db_.value_or(-kMaxDb));
  if (best != nullptr || !wanted_db_) return best;
  // Nobody can ask for more digits than are printed: of two decimals the second is rounded.
  constexpr double kHalfOfTheLastDigit = 0.005;
  return best_from(*wanted_db_ - kHalfOfTheLastDigit);
}

const WholeRun* MixTask::best_from(double least_db) const {
  const WholeRun* best = nullptr;
  for (const WholeRun& run : runs_.all()) {
    if (!within_limits(run.measured.choices) || run.measured.db < least_db) continue;
    const bool better =
        best == nullptr || (wanted_db_ ? price(run.measured.choices) < price(best->measured.choices)
                                       : run.measured.db > best->measured.db);
    if (better) best = &run;
  }
  return best;
}

}  // namespace bitsweep::allocate
