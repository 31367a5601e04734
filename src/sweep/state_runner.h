#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "bitsweep/sweep.h"
#include "simulate/reuse/evaluator.h"
#include "sweep/answers.h"
#include "sweep/sample_scores.h"

namespace bitsweep::sweeping {

/// What a round asks of one sample.
struct SampleWork {
  std::size_t place = 0;  ///< of its answers
  std::vector<std::size_t> states;
};

/// Evaluates states on samples: samples outside, states inside. Worker threads take (state, sample)
/// pairs; the float pass of the next sample starts while the last states of this one still run. At
/// most two samples are in memory (where that is short: a block of them, for fewer sessions at a
/// time), and their states run in step.
class StateRunner {
 public:
  /// Sets the evaluator's plan. Called once, with the first sample of which something must be run:
  /// not at all where every answer is known.
  using Plan = std::function<void(const Feed& sample)>;

  StateRunner(const Simulation& simulation, SampleSource& source, Plan plan,
              std::vector<simulate::State> states, Scoring scoring);

  /// Evaluates the states of these indices on the samples of the source, with `num_threads`
  /// workers. `first` is the first sample, if it was taken from the source already. `on_tick` is
  /// called from this thread several times a second and stops the work by returning true.
  void run(const std::vector<std::size_t>& active, std::optional<SourceSample> first,
           int num_threads, const std::function<bool()>& on_tick);
  /// On some of the samples: what each one is to do, in the order of the source, or nothing where
  /// it is passed over. Reads the source from its start.
  void run(std::vector<std::optional<SampleWork>> work, int num_threads,
           const std::function<bool()>& on_tick);
  /// Between runs. @returns its index.
  std::size_t add_state(simulate::State state);
  const simulate::State& state(std::size_t index) const { return states_[index]; }
  /// Of what lies behind the first change of a state, in units of one float pass.
  double cost(std::size_t state) const;

  /// Call after run(), or under on_tick.
  AnswerTable answers() const;
  std::int64_t num_done() const;
  std::int64_t num_kept() const;
  std::int64_t num_samples_opened() const;
  bool stopped() const { return stop_; }

 private:
  struct Task {
    enum class Kind { kReference, kState, kKept };
    Kind kind;
    std::size_t index;  ///< suffix or state
  };
  /// What one sample's states share.
  struct Job {
    std::int64_t index = 0;
    SourceSample source;
    std::vector<std::size_t> states;  ///< most expensive first
    std::once_flag opened;
    std::shared_ptr<simulate::Sample> sample;
    std::vector<Task> tasks;
    std::size_t next_task = 0;
    std::size_t num_finished = 0;
    std::optional<SampleScores> scores;
  };

  void work();
  void produce(std::unique_lock<std::mutex>& lock);
  std::optional<SourceSample> next_sample(SampleWork* work);
  std::shared_ptr<Job> make_job(SampleWork work, SourceSample source);
  void plan_tasks(Job* job);
  void run_task(Job& job, const Task& task);
  void run_state(Job& job, std::size_t state);
  void ensure_plan(const Feed& sample);
  void record(const Job& job, std::size_t state, Answer answer, bool kept);
  simulate::Sample& opened(Job& job);
  /// Early changes cost most: starting with them keeps the workers' ends together.
  void put_expensive_first(std::vector<std::size_t>* states) const;
  void run_round(int num_threads, const std::function<bool()>& on_tick);

  const Simulation& simulation_;
  const simulate::Network& network_;
  simulate::Evaluator& evaluator_;
  SampleSource& source_;
  Plan plan_;
  std::once_flag planned_;
  std::vector<simulate::State> states_;
  Scoring scoring_;
  std::vector<std::size_t> active_;              // on every sample, unless work_ is given
  std::vector<std::optional<SampleWork>> work_;  // by sample

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> jobs_;
  // The first sample is everybody's: it makes the sessions and the references that later ones
  // share.
  std::size_t max_open_samples_ = 1;
  bool filling_ = false;           // a block of samples is being opened
  std::size_t num_producing_ = 0;  // workers that open a sample
  std::mutex source_mutex_;        // guards the source, pending_, num_read_ and num_opened_
  std::optional<SourceSample> pending_;
  std::atomic<bool> source_ended_ = false;
  bool stop_ = false;
  std::exception_ptr error_;
  std::size_t num_read_ = 0;  // of the source, in this round
  std::atomic<std::int64_t> num_opened_ = 0;
  std::int64_t num_done_ = 0;
  std::int64_t num_kept_ = 0;
  int num_working_ = 0;
  AnswerTable answers_;
};

}  // namespace bitsweep::sweeping
