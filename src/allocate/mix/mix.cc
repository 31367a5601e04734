#include "bitsweep/mix.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "allocate/mix/choose.h"
#include "allocate/mix/curve.h"
#include "allocate/mix/encoding_bank.h"
#include "allocate/mix/final_check.h"
#include "allocate/mix/kept_runs.h"
#include "allocate/mix/mix_groups.h"
#include "allocate/mix/mix_problem.h"
#include "allocate/mix/mix_task.h"
#include "allocate/mix/telling_samples.h"
#include "allocate/mix/whole_runs.h"

namespace bitsweep {
namespace {

using allocate::MixTask;
using allocate::WholeRun;

MixPoint point_of(const WholeRun& run, const MixTask& task, const allocate::MixGroups& groups) {
  MixPoint point{.by_group = {},
                 .costs = {},
                 .predicted_db = run.predicted_db,
                 .measured_db = run.measured.db,
                 .expected_db = run.expected_db};
  for (std::size_t g = 0; g < run.measured.choices.size(); ++g)
    point.by_group.push_back(groups.choices[g][static_cast<std::size_t>(run.measured.choices[g])]);
  for (const CostTable& cost : task.base().costs)
    point.costs.push_back(cost_of(cost, run.measured.choices));
  return point;
}

/// How far the chosen configuration can be from the best one of its cost, as predicted now.
void prove(const MixTask& task, const WholeRun& chosen, MixResult* result) {
  const BudgetProblem now = task.corrected();
  std::vector<CostLimit> limits = task.limits();
  if (task.wanted_db()) limits.push_back({task.cost(), task.price(chosen.measured.choices)});
  // What is chosen does not depend on the bound: a few seconds are enough for it.
  constexpr int kMaxRelaxations = 24;
  BudgetOptions options = task.options().budget;
  options.max_relaxations = std::min(options.max_relaxations, kMaxRelaxations);
  const BudgetSolution best = least_loss(now, limits, options);
  if (!best.feasible() || !best.bound) return;
  const double loss = loss_of(now, chosen.measured.choices);
  // A bound below zero says nothing.
  if (loss > 0.0 && *best.bound > 0.0) result->gap = std::max(0.0, (loss - *best.bound) / loss);
  result->optimal = best.optimal && loss <= best.loss;
}

bool wants_curve(const MixOptions& options) {
  return options.frontier_points > 0 || !options.frontier_costs.empty();
}

/// The samples that losses of single groups are measured with.
///
/// For one answer those that tell most are enough, since each configuration that is tried runs on
/// all; points of a curve have to hold on other samples, too.
std::optional<allocate::SomeSamples> samples_of_groups(const MixOptions& options,
                                                       allocate::WholeRuns& runs,
                                                       SampleSource& search) {
  if (options.targets.empty() || wants_curve(options)) return std::nullopt;
  std::vector<std::int64_t> telling = allocate::telling_samples(runs.look_at_uniform());
  if (telling.empty()) return std::nullopt;
  return std::make_optional<allocate::SomeSamples>(search, std::move(telling));
}

/// Searches, and draws the curve; null when nothing meets the targets, or none were given.
const WholeRun* run_task(MixTask& task, const allocate::MixGroups& groups,
                         const allocate::Tick& tick, MixResult* result) {
  const MixOptions& options = task.options();
  if (!options.targets.empty()) {
    const allocate::MixChoice choice = allocate::choose(task, groups);
    result->infeasible = choice.infeasible;
    result->rounds = choice.rounds;
  }
  if (wants_curve(options)) {
    for (const WholeRun& run : allocate::make_curve(task, tick))
      result->frontier.push_back(point_of(run, task, groups));
  }
  // Of all that was run, for the curve too.
  const WholeRun* chosen = options.targets.empty() ? nullptr : task.best();
  if (chosen != nullptr && options.budget.bound) prove(task, *chosen, result);
  return chosen;
}

/// Leaves the simulation in what was chosen, and checks it.
void settle(const WholeRun& chosen, MixTask& task, const allocate::MixGroups& groups,
            Simulation& simulation, SampleSource* test, const allocate::Tick& tick,
            MixResult* result) {
  result->infeasible.clear();
  result->chosen = point_of(chosen, task, groups);
  result->agreed =
      std::abs(chosen.predicted_db - chosen.measured.db) <= task.options().tolerance_db;
  task.runs().set(chosen.measured.choices);
  if (test != nullptr) result->test_db = task.runs().score(*test);
  result->checks = allocate::final_checks(simulation, test, task.options(), tick);
}

}  // namespace

MixResult mix(Simulation& simulation, SampleSource& calibration, SampleSource& search,
              SampleSource* test, const MixOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const allocate::Tick tick = allocate::tick_of(options);
  allocate::require_outputs(simulation.model(), options);
  allocate::require_costs(options);
  allocate::require_checks(test, options);
  allocate::MixGroups groups = allocate::make_mix_groups(simulation, options);
  allocate::KeptRuns kept(options.run_directory);
  allocate::EncodingBank bank(simulation, groups.groups, groups.candidates, calibration, tick,
                              &kept);
  try {
    allocate::WholeRuns runs(simulation, bank, groups, kept, search, options, tick);
    MixResult result;
    MixTask costs(options, allocate::problem_of_costs(simulation, groups, options, &result.notes),
                  runs);
    const WholeRun* cheapest =
        wants_curve(options) ? nullptr : allocate::cheapest_that_is_enough(costs);
    if (cheapest != nullptr) {
      result.notes.emplace_back(
          "the cheapest candidates reach the quality everywhere: nothing else was run");
      settle(*cheapest, costs, groups, simulation, test, tick, &result);
    } else {
      std::optional<allocate::SomeSamples> some = samples_of_groups(options, runs, search);
      allocate::GroupProblem start = allocate::problem_of_groups(
          simulation, bank, groups, some ? *some : search, options, kept, tick);
      if (!some) runs.weigh_samples(std::move(start.sample_weights));
      MixTask task(options, std::move(start.problem), runs);
      result.notes = std::move(start.notes);
      if (const WholeRun* chosen = run_task(task, groups, tick, &result))
        settle(*chosen, task, groups, simulation, test, tick, &result);
    }
    result.groups = groups.groups;
    result.num_measured = static_cast<int>(runs.all().size());
    if (std::string note = runs.not_finite_note(); !note.empty())
      result.notes.push_back(std::move(note));
    result.num_kept = kept.num_found();
    result.num_run = kept.num_run();
    for (const std::string& note : kept.notes()) result.notes.push_back(note);
    if (!result.chosen) bank.restore();
    result.elapsed_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
  } catch (...) {
    bank.restore();
    throw;
  }
}

}  // namespace bitsweep
