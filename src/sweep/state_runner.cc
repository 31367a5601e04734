#include "sweep/state_runner.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

namespace bitsweep::sweeping {

using simulate::Evaluation;
using simulate::State;

StateRunner::StateRunner(simulate::Engine& engine, SampleSource& source,
                         const Simulation& simulation, std::vector<State> states,
                         const MetricAccumulator& metric)
    : engine_(engine),
      source_(source),
      simulation_(simulation),
      states_(std::move(states)),
      metric_(metric) {
  results_.resize(states_.size());
  std::set<int> suffixes;
  for (const State& state : states_) {
    const int suffix = engine_.suffix_of(state);
    if (engine_.touched(state) && suffix < engine_.num_suffixes()) suffixes.insert(suffix);
  }
  references_.assign(suffixes.begin(), suffixes.end());
  // Early changes cost most: starting with them keeps the workers' ends together.
  order_.resize(states_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  const auto start = [&](std::size_t s) {
    const auto range = engine_.touched(states_[s]);
    return range ? range->first : engine_.order().size();
  };
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::size_t a, std::size_t b) { return start(a) < start(b); });
}

const MetricReference& StateRunner::reference_of(Job& job, const Evaluation& evaluation,
                                                 int suffix) {
  const bool own = evaluation.reference != &job.sample->outputs();
  Job::Prepared& prepared =
      *(own ? job.prepared[static_cast<std::size_t>(suffix)] : job.prepared.back());
  std::call_once(prepared.once,
                 [&] { prepared.reference = metric_.prepare(*evaluation.reference); });
  return *prepared.reference;
}

void StateRunner::run_task(Job& job, std::size_t task) {
  if (task < references_.size()) {
    engine_.prepare_reference(*job.sample, references_[task]);
    return;
  }
  const std::size_t index = order_[task - references_.size()];
  const State& state = states_[index];
  const Evaluation evaluation = engine_.evaluate(state, *job.sample);
  const std::unique_ptr<MetricAccumulator> score = metric_.fresh();
  score->add(reference_of(job, evaluation, engine_.suffix_of(state)), evaluation.outputs);
  SampleScore result{score->score(), score->state()};
  const std::lock_guard lock(mutex_);
  auto& row = results_[index];
  if (row.size() <= static_cast<std::size_t>(job.index))
    row.resize(static_cast<std::size_t>(job.index) + 1);
  row[static_cast<std::size_t>(job.index)] = std::move(result);
  ++num_done_;
}

void StateRunner::produce(std::unique_lock<std::mutex>& lock) {
  ++num_producing_;
  lock.unlock();
  std::shared_ptr<Job> job;
  try {
    std::optional<Feed> feed;
    std::int64_t index = 0;
    {
      const std::lock_guard reading(source_mutex_);
      feed = std::exchange(pending_feed_, std::nullopt);
      if (!feed && !source_ended_) {
        feed.emplace();
        if (!source_.next(&*feed)) feed.reset();
      }
      if (!feed) source_ended_ = true;
      if (feed) index = num_opened_++;
    }
    if (feed) {
      simulation_.check_feed(*feed);
      job = std::make_shared<Job>();
      job->index = index;
      job->sample = engine_.open_sample(*feed);
      for (std::size_t i = 0; i <= static_cast<std::size_t>(engine_.num_suffixes()); ++i)
        job->prepared.push_back(std::make_unique<Job::Prepared>());
    }
  } catch (...) {
    lock.lock();
    --num_producing_;
    throw;
  }
  lock.lock();
  --num_producing_;
  if (job != nullptr) jobs_.push_back(std::move(job));
  max_open_samples_ = 2;
  changed_.notify_all();
}

void StateRunner::work() {
  const std::size_t num_tasks = references_.size() + states_.size();
  std::unique_lock lock(mutex_);
  while (!stop_ && error_ == nullptr) {
    // The sample that lags behind: so the workers run the same session at about the same time, each
    // with a sample of its own, and share its weights in the cache.
    const auto open = std::min_element(
        jobs_.begin(), jobs_.end(),
        [](const auto& one, const auto& other) { return one->next_task < other->next_task; });
    try {
      if (open != jobs_.end() && (*open)->next_task < num_tasks) {
        // The queue may drop its own pointer while this thread works.
        // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
        const std::shared_ptr<Job> job = *open;
        const std::size_t task = job->next_task++;
        lock.unlock();
        try {
          run_task(*job, task);
        } catch (...) {
          lock.lock();
          throw;
        }
        lock.lock();
        if (++job->num_finished == num_tasks) {
          jobs_.erase(std::find(jobs_.begin(), jobs_.end(), job));
          changed_.notify_all();
        }
      } else if (source_ended_ && num_producing_ == 0) {
        break;
      } else if (!source_ended_ && jobs_.size() + num_producing_ < max_open_samples_) {
        produce(lock);
      } else {
        changed_.wait(lock);
      }
    } catch (...) {
      if (error_ == nullptr) error_ = std::current_exception();
      changed_.notify_all();
    }
  }
  --num_working_;
  changed_.notify_all();
}

void StateRunner::run(Feed first, int num_threads, const std::function<bool()>& on_tick) {
  constexpr std::chrono::milliseconds kTick{100};
  pending_feed_ = std::move(first);
  num_working_ = num_threads;
  std::vector<std::jthread> workers;
  for (int i = 0; i < num_threads; ++i) workers.emplace_back([this] { work(); });
  std::unique_lock lock(mutex_);
  while (num_working_ > 0) {
    changed_.wait_for(lock, kTick, [&] { return num_working_ == 0; });
    if (num_working_ == 0 || on_tick == nullptr || stop_) continue;
    lock.unlock();
    bool stop = false;
    std::exception_ptr failure;
    try {
      stop = on_tick();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure != nullptr && error_ == nullptr) error_ = failure;
    if (stop) stop_ = true;
    if (stop_ || error_ != nullptr) changed_.notify_all();
  }
  lock.unlock();
  workers.clear();  // joins
  if (error_ != nullptr) std::rethrow_exception(error_);
}

std::vector<std::vector<std::optional<SampleScore>>> StateRunner::results() const {
  const std::lock_guard lock(mutex_);
  return results_;
}

std::int64_t StateRunner::num_done() const {
  const std::lock_guard lock(mutex_);
  return num_done_;
}

std::int64_t StateRunner::num_samples_opened() const {
  const std::lock_guard lock(mutex_);
  return num_opened_;
}

}  // namespace bitsweep::sweeping
