#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "bitsweep/metric.h"
#include "bitsweep/sweep.h"
#include "simulate/engine.h"

namespace bitsweep::sweeping {

/// Score of one state on one sample, with the sums that join samples.
struct SampleScore {
  double score = 0.0;
  std::vector<double> sums;
};

/// Evaluates all states on all samples: samples outside, states inside. Worker threads take (state,
/// sample) pairs; the float pass of the next sample starts while the last states of this one still
/// run. At most two samples are in memory, and their states run in step.
class StateRunner {
 public:
  StateRunner(simulate::Engine& engine, SampleSource& source, const Simulation& simulation,
              std::vector<simulate::State> states, const MetricAccumulator& metric);

  /// Runs everything with `num_threads` workers; `first` is the sample already taken from the
  /// source. `on_tick` is called from this thread several times a second and stops the work by
  /// returning true.
  void run(Feed first, int num_threads, const std::function<bool()>& on_tick);

  /// For each state, by sample; absent where stopped before. Call after run(), or under on_tick.
  std::vector<std::vector<std::optional<SampleScore>>> results() const;
  std::int64_t num_done() const;
  std::int64_t num_samples_opened() const;
  bool stopped() const { return stop_; }

 private:
  /// What one sample's states share.
  struct Job {
    std::int64_t index = 0;
    std::shared_ptr<simulate::Sample> sample;
    std::size_t next_task = 0;
    std::size_t num_finished = 0;
    struct Prepared {
      std::once_flag once;
      std::shared_ptr<const MetricReference> reference;
    };
    std::vector<std::unique_ptr<Prepared>>
        prepared;  // by suffix; the last one for the float pass's own outputs
  };

  void work();
  void produce(std::unique_lock<std::mutex>& lock);
  void run_task(Job& job, std::size_t task);
  const MetricReference& reference_of(Job& job, const simulate::Evaluation& evaluation, int suffix);

  simulate::Engine& engine_;
  SampleSource& source_;
  const Simulation& simulation_;
  std::vector<simulate::State> states_;
  const MetricAccumulator& metric_;
  std::vector<int> references_;     // suffixes that some state needs
  std::vector<std::size_t> order_;  // states, most expensive first

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> jobs_;
  // The first sample is everybody's: it makes the sessions and the references that later ones
  // share.
  std::size_t max_open_samples_ = 1;
  std::size_t num_producing_ = 0;  // workers that open a sample
  std::mutex source_mutex_;        // guards the source, pending_feed_ and num_opened_
  std::optional<Feed> pending_feed_;
  std::atomic<bool> source_ended_ = false;
  bool stop_ = false;
  std::exception_ptr error_;
  std::atomic<std::int64_t> num_opened_ = 0;
  std::int64_t num_done_ = 0;
  int num_working_ = 0;
  std::vector<std::vector<std::optional<SampleScore>>> results_;
};

}  // namespace bitsweep::sweeping
