#include "allocate/mix/mix_problem.h"

#include <cmath>

#include "allocate/costs/latency.h"
#include "allocate/mix/group_losses.h"
#include "bitsweep/error.h"

namespace bitsweep {
namespace allocate {
namespace {

/// Of types alone: another granularity or estimator may be better or worse.
bool has_bits_of(const Candidate& a, const Candidate& b) {
  if (a.granularity != b.granularity || a.estimator != b.estimator) return false;
  const auto bits = [](const std::optional<Format>& f) { return f ? effective_bits(*f) : 0.0; };
  return effective_bits(a.activation) >= effective_bits(b.activation) &&
         bits(a.parameter) >= bits(b.parameter);
}

/// More bits never count as worse; interactions shrink with the loss.
void repair(BudgetProblem& problem, const std::vector<std::vector<Candidate>>& choices_of) {
  const std::size_t n = problem.num_choices();
  std::size_t offset = 0;
  for (std::size_t g = 0; g < problem.loss.size(); ++g) {
    const std::vector<Candidate>& choices = choices_of[g];
    const std::vector<double> before = problem.loss[g];
    std::vector<std::vector<bool>> more(choices.size(), std::vector<bool>(choices.size()));
    for (std::size_t a = 0; a < choices.size(); ++a) {
      for (std::size_t b = 0; b < choices.size(); ++b)
        more[a][b] = a != b && has_bits_of(choices[a], choices[b]);
    }
    repair_losses(problem.loss[g], more);
    for (std::size_t c = 0; c < choices.size(); ++c) {
      if (problem.loss[g][c] == before[c]) continue;
      const double factor = std::sqrt(problem.loss[g][c] / before[c]);
      for (std::size_t s = 0; s < n; ++s) {
        problem.interactions[(offset + c) * n + s] *= factor;
        problem.interactions[s * n + offset + c] *= factor;
      }
    }
    offset += choices.size();
  }
}

template <typename T>
void erase_at(std::vector<T>& list, std::size_t position) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(position));
}

/// A square table without one row and column.
std::vector<double> without(const std::vector<double>& square, std::size_t size, std::size_t gone) {
  std::vector<double> result;
  result.reserve((size - 1) * (size - 1));
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      if (i != gone && j != gone) result.push_back(square[i * size + j]);
    }
  }
  return result;
}

/// Choices with outputs that are NaN, infinite or of another size leave the groups, each with a
/// note.
/// @throws Error(kInvalidData) when that leaves a group with nothing.
void leave_out(MixGroups& groups, GroupLosses& losses, std::vector<std::string>* notes) {
  const auto group_text = [&](std::size_t g) {
    return "the group of \"" + group_name(groups.groups[g]) + "\"";
  };
  for (const auto& [group, choice] : losses.not_finite) {
    const auto g = static_cast<std::size_t>(group);
    notes->push_back(mix_candidate_text(groups.choices[g][static_cast<std::size_t>(choice)]) +
                     " of " + group_text(g) +
                     " gives outputs that are NaN, infinite or of another size and was left out");
  }
  // The last first, so that the positions of the others stay.
  for (auto gone = losses.not_finite.rbegin(); gone != losses.not_finite.rend(); ++gone) {
    const auto g = static_cast<std::size_t>(gone->first);
    const auto c = static_cast<std::size_t>(gone->second);
    if (groups.choices[g].size() == 1) {
      throw Error(ErrorCode::kInvalidData, "mix",
                  "every candidate of " + group_text(g) +
                      " gives outputs that are NaN, infinite or of another size",
                  "add the candidate float, or one with more bits");
    }
    std::size_t at = c;
    std::size_t size = 0;
    for (std::size_t h = 0; h < losses.loss.size(); ++h) {
      if (h < g) at += losses.loss[h].size();
      size += losses.loss[h].size();
    }
    losses.interactions = without(losses.interactions, size, at);
    erase_at(losses.loss[g], c);
    erase_at(groups.choices[g], c);
    erase_at(groups.candidate_of[g], c);
  }
}

}  // namespace

void require_outputs(const Model& model, const MixOptions& options) {
  const auto count = static_cast<int>(model.outputs().size());
  for (const int position : options.outputs) {
    if (position >= 0 && position < count) continue;
    throw Error(ErrorCode::kInvalidArgument, "mix",
                "there is no output " + std::to_string(position) + ", the model has " +
                    std::to_string(count),
                "count the outputs from 0");
  }
}

BudgetProblem problem_of_costs(const Simulation& simulation, const MixGroups& groups,
                               const MixOptions& options, std::vector<std::string>* notes) {
  BudgetProblem problem;
  for (const std::vector<Candidate>& choices : groups.choices)
    problem.loss.emplace_back(choices.size(), 0.0);
  problem.costs = mix_cost_tables(simulation, groups.groups, groups.choices);
  if (!options.latency_table.empty()) {
    problem.costs.push_back(
        latency_cost(simulation, options.latency_table, groups.groups, groups.choices, notes));
  }
  return problem;
}

GroupProblem problem_of_groups(Simulation& simulation, EncodingBank& bank, MixGroups& groups,
                               SampleSource& search, const MixOptions& options, KeptRuns& kept,
                               const Tick& tick) {
  GroupLosses losses =
      measure_group_losses(simulation, bank, groups.groups, groups.candidate_of, search,
                           {.outputs = options.outputs,
                            .num_threads = options.num_threads,
                            .max_memory_bytes = options.max_memory_bytes,
                            .kept = &kept},
                           tick);
  bank.restore();  // what choices leave open costs what it did
  GroupProblem result;
  result.notes = groups.notes;
  leave_out(groups, losses, &result.notes);
  result.sample_weights = std::move(losses.sample_weights);
  result.problem = problem_of_costs(simulation, groups, options, &result.notes);
  result.problem.loss = std::move(losses.loss);
  result.problem.interactions = std::move(losses.interactions);
  repair(result.problem, groups.choices);
  return result;
}

Tick tick_of(const MixOptions& options) {
  return [&options](const char* stage, std::int64_t done, std::int64_t total) {
    if (!options.progress || !options.progress({stage, done, total})) return;
    throw Error(ErrorCode::kCancelled, "mix", "interrupted",
                options.run_directory.empty() ? "" : "the same call continues with what was run");
  };
}

}  // namespace allocate

MixProblem mix_problem(Simulation& simulation, SampleSource& calibration, SampleSource& search,
                       const MixOptions& options) {
  allocate::require_outputs(simulation.model(), options);
  const allocate::Tick tick = allocate::tick_of(options);
  allocate::MixGroups groups = allocate::make_mix_groups(simulation, options);
  allocate::KeptRuns kept(options.run_directory);
  allocate::EncodingBank bank(simulation, groups.groups, groups.candidates, calibration, tick,
                              &kept);
  MixProblem result;
  try {
    result.problem =
        allocate::problem_of_groups(simulation, bank, groups, search, options, kept, tick).problem;
  } catch (...) {
    bank.restore();
    throw;
  }
  bank.restore();
  result.groups = std::move(groups.groups);
  result.choices = std::move(groups.choices);
  return result;
}

}  // namespace bitsweep
