#include "bitsweep/sweep.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <utility>

#include "base/usable_cpus.h"
#include "bitsweep/error.h"
#include "simulate/engine.h"
#include "simulate/reuse.h"
#include "simulate/reuse/exact_plan.h"
#include "sweep/adaptive_sweep.h"
#include "sweep/answers.h"
#include "sweep/delta_sums.h"
#include "sweep/journal/run_directory.h"
#include "sweep/ranking.h"
#include "sweep/state_runner.h"
#include "sweep/state_table.h"
#include "sweep/thread_use.h"

namespace bitsweep {
namespace {

using sweeping::AnswerTable;
using sweeping::ScoredMetric;
using sweeping::StateTable;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Puts the evaluator back to whole passes on every exit.
class PlanScope {
 public:
  explicit PlanScope(simulate::Evaluator& evaluator) : evaluator_(evaluator) {}
  ~PlanScope() {
    evaluator_.set_shortcuts(true);
    evaluator_.clear_plan();
  }
  PlanScope(const PlanScope&) = delete;
  PlanScope& operator=(const PlanScope&) = delete;

 private:
  simulate::Evaluator& evaluator_;
};

/// The metrics of a sweep, the first one first.
class Metrics {
 public:
  explicit Metrics(const SweepOptions& options) {
    choices_.push_back({options.metric, options.metric_options});
    choices_.insert(choices_.end(), options.more_metrics.begin(), options.more_metrics.end());
    for (const MetricChoice& choice : choices_)
      accumulators_.push_back(make_metric(choice.name, choice.options));
  }

  std::size_t size() const { return choices_.size(); }
  const std::vector<MetricChoice>& choices() const { return choices_; }
  const MetricInfo& info(std::size_t m) const { return find_metric(choices_[m].name); }
  ScoredMetric scored(std::size_t m) const {
    return {.accumulator = accumulators_[m].get(), .index = m, .better = info(m).better};
  }
  std::vector<const MetricAccumulator*> accumulators() const {
    std::vector<const MetricAccumulator*> pointers;
    for (const auto& accumulator : accumulators_) pointers.push_back(accumulator.get());
    return pointers;
  }
  bool need_labels() const {
    for (std::size_t m = 0; m < size(); ++m) {
      if (info(m).needs_labels) return true;
    }
    return false;
  }

 private:
  std::vector<MetricChoice> choices_;
  std::vector<std::unique_ptr<MetricAccumulator>> accumulators_;
};

void check_options(const SweepOptions& options) {
  const auto refuse = [](const char* what, const char* fix) {
    throw Error(ErrorCode::kInvalidArgument, "sweep", what, fix);
  };
  if (options.interactions && options.mode != SweepMode::kEnableOne)
    refuse("interactions are those of groups quantized alone", "use the mode enable_one");
  if (options.interactions && options.until_stable)
    refuse("interactions need every group on every sample", "leave until_stable out");
  if (!options.caches && !options.run_directory.empty())
    refuse("a run directory is a cache", "leave it out, or caches as they are");
  if (options.until_stable && options.mode == SweepMode::kCumulative)
    refuse("a cumulative sweep has no most sensitive groups", "leave until_stable out");
  if (options.until_stable) sweeping::check_adaptive_options(*options.until_stable);
}

sweeping::SourceSample first_sample(const Simulation& simulation, SampleSource& samples) {
  sweeping::SourceSample first;
  samples.rewind();
  if (!samples.next(&first.feed))
    throw Error(ErrorCode::kInvalidData, "sweep", "there is no sample", "give at least one");
  first.labels = samples.labels();
  simulation.check_feed(first.feed);
  return first;
}

/// Selected groups first: the others may have been scored on other samples.
void put_selected_first(const Stability& stability, std::vector<SweepScore>* rows) {
  std::stable_partition(rows->begin(), rows->end(), [&](const SweepScore& row) {
    return std::find(stability.selected.begin(), stability.selected.end(), row.name) !=
           stability.selected.end();
  });
  for (std::size_t i = 0; i < rows->size(); ++i) (*rows)[i].rank = static_cast<std::int64_t>(i) + 1;
}

}  // namespace

SweepResult sweep(Simulation& simulation, SampleSource& samples,
                  const std::vector<SweepGroup>& groups, const SweepOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  check_options(options);
  const Metrics metrics(options);
  const StateTable table = sweeping::make_states(simulation, groups, options.mode);
  std::unique_ptr<journal::RunDirectory> directory;
  if (!options.run_directory.empty())
    directory =
        std::make_unique<journal::RunDirectory>(options.run_directory, options.max_kept_bytes);
  simulate::Engine& engine = simulation.engine();
  simulate::Evaluator& evaluator = engine.evaluator();
  sweeping::SourceSample first = first_sample(simulation, samples);
  engine.shapes().find_or_observe(first.feed);

  const std::int64_t memory =
      options.max_memory_bytes > 0 ? options.max_memory_bytes : simulate::default_memory_bytes();
  const PlanScope scope(evaluator);
  engine.sessions().set_memory_limit(static_cast<std::size_t>(memory));
  const sweeping::Threads threads =
      sweeping::choose_threads(evaluator, options.thread_use, first.feed,
                               options.num_threads > 0 ? options.num_threads : usable_cpus());
  engine.work().reset();
  const simulate::CutPlanOptions plan_options{
      .num_samples = samples.size() > 0 ? samples.size() : 16,
      .memory_bytes = memory,
      .threads_per_run = threads.per_run};
  const auto set_plan = [&](const Feed& sample) {
    if (!options.reuse) {
      evaluator.set_plan({.threads_per_run = threads.per_run});
      return;
    }
    engine.planner().set_plan(table.states, sample, plan_options, threads.workers);
    if (!options.caches) {
      evaluator.set_shortcuts(false);
      engine.sessions().set_memory_limit(0);  // no session is kept
    }
  };
  if (options.forecast) {
    options.forecast({.num_states = static_cast<std::int64_t>(table.states.size()),
                      .num_samples = samples.size(),
                      .forward_equivalents_per_sample =
                          options.reuse ? simulate::plan_cuts(engine.network(), engine.shapes(),
                                                              table.states, plan_options)
                                              .cost_per_sample
                                        : static_cast<double>(table.states.size())});
  }

  std::vector<simulate::State> states = table.states;
  // Where scores compare with the truth.
  std::optional<std::size_t> float_model;
  if (metrics.need_labels()) {
    float_model = states.size();
    states.emplace_back();
  }
  std::optional<journal::StateKeys> keys;
  if (directory != nullptr) {
    const std::string path = options.reuse ? "reuse" : "whole";
    keys.emplace(simulation, threads.per_run == 1
                                 ? path
                                 : path + " " + std::to_string(threads.per_run) + " threads");
  }
  std::unique_ptr<sweeping::DeltaSums> deltas;
  if (options.interactions)
    deltas = std::make_unique<sweeping::DeltaSums>(states.size(), options.metric_options.outputs);

  std::atomic<double> prepared_s = 0.0;
  const auto prepare = [&](const Feed& sample) {
    set_plan(sample);
    prepared_s = seconds_since(start);
  };
  sweeping::StateRunner runner(simulation, samples, prepare, states,
                               {.metrics = metrics.accumulators(),
                                .kept = {.directory = directory.get(),
                                         .keys = keys ? &*keys : nullptr,
                                         .metrics = metrics.choices()},
                                .deltas = deltas.get()});
  std::optional<sweeping::AdaptiveSweep> adaptive;
  if (options.until_stable) {
    const bool low_first =
        (metrics.info(0).better == Better::kHigher) == (options.mode == SweepMode::kEnableOne);
    adaptive.emplace(*options.until_stable,
                     sweeping::Sensitivity{.metric = metrics.scored(0), .low_first = low_first},
                     options.mode, table, runner, options.seed);
  }
  const auto group_answers = [&] {
    AnswerTable answers = runner.answers();
    answers.resize(table.states.size());
    return answers;
  };
  const auto on_tick = [&] {
    SweepProgress progress;
    progress.done = runner.num_done();
    progress.total =
        samples.size() >= 0 ? samples.size() * static_cast<std::int64_t>(states.size()) : -1;
    progress.elapsed_s = seconds_since(start);
    const std::int64_t num_run = progress.done - runner.num_kept();
    if (num_run > 0 && progress.total > 0) {
      progress.remaining_s = (progress.elapsed_s - prepared_s) *
                             static_cast<double>(progress.total - progress.done) /
                             static_cast<double>(num_run);
    }
    const std::vector<SweepScore> ranked =
        sweeping::rank(table, group_answers(), metrics.scored(0), options.mode,
                       adaptive ? adaptive->order() : nullptr);
    if (!ranked.empty()) {
      progress.worst = ranked.front().name;
      progress.worst_score = ranked.front().score;
    }
    return options.progress(progress);
  };
  const std::function<bool()> tick = options.progress ? std::function<bool()>(on_tick) : nullptr;
  SweepResult result;
  if (adaptive) {
    std::vector<std::size_t> on_every_sample;
    if (float_model) on_every_sample.push_back(*float_model);
    adaptive->run(on_every_sample, std::move(first), threads.workers, tick);
    if (!runner.stopped()) result.stability = adaptive->stability();
  } else {
    std::vector<std::size_t> all(states.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    runner.run(all, std::move(first), threads.workers, tick);
  }
  if (options.progress && !runner.stopped()) on_tick();

  const AnswerTable answers = group_answers();
  const sweeping::SampleOrder* const order = adaptive ? adaptive->order() : nullptr;
  result.mode = options.mode;
  result.groups = groups;
  result.complete = !runner.stopped();
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    MetricScores scores{.metric = metrics.info(m).name,
                        .unit = metrics.info(m).unit,
                        .better = metrics.info(m).better};
    scores.scores = sweeping::rank(table, answers, metrics.scored(m), options.mode, order);
    if (result.stability) put_selected_first(*result.stability, &scores.scores);
    sweeping::add_certainty(table, answers, metrics.scored(m), options.seed, order, &scores.scores);
    if (metrics.info(m).needs_labels) {
      const sweeping::AnswerRow row = runner.answers()[*float_model];
      const std::size_t seen = sweeping::num_answers(row);
      if (seen > 0) scores.float_score = sweeping::score_of(metrics.scored(m), row, seen);
    }
    if (m == 0) {
      static_cast<MetricScores&>(result) = std::move(scores);
    } else {
      result.more.push_back(std::move(scores));
    }
  }
  for (const SweepScore& row : result.scores)
    result.num_samples =
        std::max(result.num_samples, static_cast<std::int64_t>(row.per_sample.size()));
  if (order != nullptr)
    result.num_samples = static_cast<std::int64_t>(order->size());  // the pilots saw all
  if (deltas != nullptr) result.interactions = deltas->result(table.names, table.state_of_group);
  result.forward_equivalents = engine.work().forward_equivalents() /
                               static_cast<double>(std::max<std::int64_t>(
                                   1, order != nullptr ? static_cast<std::int64_t>(order->size())
                                                       : runner.num_samples_opened()));
  result.num_runs = engine.work().num_runs();
  result.num_kept = runner.num_kept();
  result.num_evaluations = runner.num_done() - runner.num_kept();
  if (options.thread_use == ThreadUse::kMeasured) {
    result.notes.push_back(threads.per_run > 1 ? "threads share each run, which was faster"
                                               : "threads run states of their own");
  }
  if (directory != nullptr) {
    if (result.num_kept > 0) {
      result.notes.push_back("continued: " + std::to_string(result.num_kept) + " of " +
                             std::to_string(runner.num_done()) + " answers were in " +
                             options.run_directory.string() + " already");
    }
    for (std::string& note : directory->notes()) result.notes.push_back(std::move(note));
  }
  result.elapsed_s = seconds_since(start);
  return result;
}

}  // namespace bitsweep
