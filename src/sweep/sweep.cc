#include "bitsweep/sweep.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "bitsweep/error.h"
#include "simulate/cut_plan.h"
#include "simulate/engine.h"
#include "simulate/reuse.h"
#include "sweep/certainty.h"
#include "sweep/state_runner.h"

namespace bitsweep {
namespace {

using simulate::State;
using sweeping::SampleScore;
using Rows = std::vector<std::vector<std::optional<SampleScore>>>;

/// Groups that switch the same sites share one state: tied quantizers are evaluated once.
struct StateTable {
  std::vector<State> states;
  std::vector<std::size_t> state_of_group;
};

StateTable make_states(const Simulation& simulation, const std::vector<SweepGroup>& groups) {
  if (groups.empty()) {
    throw Error(ErrorCode::kNotReady, "sweep", "no quantizer is enabled",
                "enable quantizers, or give groups of them");
  }
  StateTable table;
  std::map<State, std::size_t> known;
  for (const SweepGroup& group : groups) {
    std::vector<const Quantizer*> quantizers;
    for (const std::string& tensor : group.tensors)
      quantizers.push_back(simulation.quantizer(tensor).get());
    State state = simulation.engine().sites_of(quantizers);
    simulation.engine().check_ready(state);
    const auto [it, is_new] = known.emplace(state, table.states.size());
    if (is_new) table.states.push_back(std::move(state));
    table.state_of_group.push_back(it->second);
  }
  return table;
}

// Scores of one state over its first `num_samples` samples.
SweepScore score_of(const MetricAccumulator& metric,
                    const std::vector<std::optional<SampleScore>>& row, std::size_t num_samples) {
  SweepScore result;
  const std::unique_ptr<MetricAccumulator> total = metric.fresh();
  for (std::size_t i = 0; i < num_samples; ++i) {
    total->merge(row[i]->sums);
    result.per_sample.push_back(row[i]->score);
  }
  result.score = total->score();
  return result;
}

std::size_t complete_samples(const std::vector<std::optional<SampleScore>>& row) {
  const auto missing = std::find(row.begin(), row.end(), std::nullopt);
  return static_cast<std::size_t>(missing - row.begin());
}

/// Samples that every state finished; when there is none, whatever each state has of the first one.
std::size_t common_samples(const Rows& rows) {
  std::size_t common = rows.empty() ? 0 : complete_samples(rows.front());
  for (const auto& row : rows) common = std::min(common, complete_samples(row));
  return common;
}

std::vector<SweepScore> rank(const std::vector<SweepGroup>& groups, const StateTable& table,
                             const Rows& rows, const MetricAccumulator& metric, Better better,
                             std::size_t* num_samples) {
  *num_samples = common_samples(rows);
  const std::size_t wanted = std::max<std::size_t>(1, *num_samples);
  std::vector<SweepScore> scores;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto& row = rows[table.state_of_group[g]];
    if (complete_samples(row) < wanted) continue;
    SweepScore score = score_of(metric, row, wanted);
    score.name = groups[g].name;
    scores.push_back(std::move(score));
  }
  std::stable_sort(scores.begin(), scores.end(), [&](const SweepScore& a, const SweepScore& b) {
    return better == Better::kHigher ? a.score < b.score : a.score > b.score;
  });
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i].rank = static_cast<std::int64_t>(i) + 1;
  if (*num_samples == 0 && !scores.empty()) *num_samples = 1;
  return scores;
}

// Adds intervals and ties to a finished ranking. Groups of one state share its draws, so they tie
// only by equality.
void add_certainty(const std::vector<SweepGroup>& groups, const StateTable& table, const Rows& rows,
                   const MetricAccumulator& metric, std::size_t num_samples, std::uint64_t seed,
                   std::vector<SweepScore>* scores) {
  if (num_samples < 2) return;
  std::vector<sweeping::SampleSums> sums(rows.size());
  for (std::size_t s = 0; s < rows.size(); ++s) {
    for (std::size_t i = 0; i < num_samples; ++i) sums[s].push_back(rows[s][i]->sums);
  }
  const sweeping::Bootstrap bootstrap(metric, sums, seed);
  std::map<std::string, std::size_t, std::less<>> state_of;
  for (std::size_t g = 0; g < groups.size(); ++g)
    state_of.emplace(groups[g].name, table.state_of_group[g]);
  for (std::size_t i = 0; i < scores->size(); ++i) {
    SweepScore& row = (*scores)[i];
    row.interval = bootstrap.interval(state_of.at(row.name));
    row.tied_with_next = i + 1 < scores->size() &&
                         bootstrap.tied(state_of.at(row.name), state_of.at((*scores)[i + 1].name));
  }
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Puts the engine back to whole runs on every exit.
class PlanScope {
 public:
  explicit PlanScope(simulate::Engine& engine) : engine_(engine) {}
  ~PlanScope() { engine_.set_plan({.threads_per_run = engine_.num_threads()}); }
  PlanScope(const PlanScope&) = delete;
  PlanScope& operator=(const PlanScope&) = delete;

 private:
  simulate::Engine& engine_;
};

}  // namespace

SweepResult sweep(Simulation& simulation, SampleSource& samples,
                  const std::vector<SweepGroup>& groups, const SweepOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const MetricInfo& info = find_metric(options.metric);
  const std::unique_ptr<MetricAccumulator> metric =
      make_metric(options.metric, options.metric_options);
  const StateTable table = make_states(simulation, groups);
  simulate::Engine& engine = simulation.engine();

  Feed first;
  samples.rewind();
  if (!samples.next(&first)) {
    throw Error(ErrorCode::kInvalidData, "sweep", "there is no sample", "give at least one");
  }
  simulation.check_feed(first);
  if (!engine.shapes_known()) engine.observe_shapes(first);

  const std::int64_t memory =
      options.max_memory_bytes > 0 ? options.max_memory_bytes : simulate::default_memory_bytes();
  const PlanScope scope(engine);
  engine.set_memory_limit(static_cast<std::size_t>(memory));
  simulate::CutPlan plan;
  if (options.reuse) {
    const std::int64_t expected = samples.size() > 0 ? samples.size() : 16;
    plan = simulate::plan_cuts(engine, table.states,
                               {.num_samples = expected, .memory_bytes = memory});
  }
  engine.set_plan(plan.engine);
  engine.reset_counters();

  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int num_threads = options.num_threads > 0 ? options.num_threads : cores;
  sweeping::StateRunner runner(engine, samples, simulation, table.states, *metric);
  const auto num_states = static_cast<std::int64_t>(table.states.size());
  const auto on_tick = [&] {
    SweepProgress progress;
    progress.done = runner.num_done();
    progress.total = samples.size() >= 0 ? samples.size() * num_states : -1;
    progress.elapsed_s = seconds_since(start);
    if (progress.done > 0 && progress.total > 0) {
      progress.remaining_s = progress.elapsed_s *
                             static_cast<double>(progress.total - progress.done) /
                             static_cast<double>(progress.done);
    }
    std::size_t num_samples = 0;
    const std::vector<SweepScore> ranked =
        rank(groups, table, runner.results(), *metric, info.better, &num_samples);
    if (!ranked.empty()) {
      progress.worst = ranked.front().name;
      progress.worst_score = ranked.front().score;
    }
    return options.progress(progress);
  };
  runner.run(std::move(first), num_threads,
             options.progress ? std::function<bool()>(on_tick) : nullptr);
  if (options.progress && !runner.stopped()) on_tick();

  SweepResult result;
  result.metric = info.name;
  result.unit = info.unit;
  result.better = info.better;
  result.complete = !runner.stopped();
  std::size_t num_samples = 0;
  result.scores = rank(groups, table, runner.results(), *metric, info.better, &num_samples);
  result.num_samples = static_cast<std::int64_t>(num_samples);
  add_certainty(groups, table, runner.results(), *metric, common_samples(runner.results()),
                options.seed, &result.scores);
  result.forward_equivalents =
      engine.forward_equivalents() / static_cast<double>(std::max<std::size_t>(1, num_samples));
  result.num_runs = engine.num_runs();
  result.elapsed_s = seconds_since(start);
  return result;
}

}  // namespace bitsweep
