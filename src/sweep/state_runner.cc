#include "sweep/state_runner.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "base/freed_memory.h"
#include "simulate/engine.h"

namespace bitsweep::sweeping {

using simulate::Evaluation;
using simulate::State;

namespace {

constexpr int kFloatPass = -1;

}  // namespace

StateRunner::StateRunner(const Simulation& simulation, SampleSource& source, Plan plan,
                         std::vector<State> states, Scoring scoring)
    : simulation_(simulation),
      network_(simulation.engine().network()),
      evaluator_(simulation.engine().evaluator()),
      source_(source),
      plan_(std::move(plan)),
      scoring_(std::move(scoring)) {
  for (State& state : states) add_state(std::move(state));
}

std::size_t StateRunner::add_state(State state) {
  if (scoring_.kept.directory != nullptr)
    scoring_.state_keys.push_back(scoring_.kept.keys->of(state));
  states_.push_back(std::move(state));
  answers_.emplace_back();
  return states_.size() - 1;
}

double StateRunner::cost(std::size_t state) const {
  const auto change = change_of(network_, states_[state]);
  if (!change) return 0.0;
  return simulation_.engine().shapes().cost(change->first, network_.order().size());
}

simulate::Sample& StateRunner::opened(Job& job) {
  std::call_once(job.opened, [&] { job.sample = evaluator_.open_sample(job.source.feed); });
  return *job.sample;
}

void StateRunner::ensure_plan(const Feed& sample) {
  std::call_once(planned_, [&] { plan_(sample); });
}

void StateRunner::run_state(Job& job, std::size_t state) {
  ensure_plan(job.source.feed);
  // Without shortcuts not even the float pass is shared.
  std::shared_ptr<simulate::Sample> fresh;
  if (!evaluator_.shortcuts()) fresh = evaluator_.open_sample(job.source.feed);
  simulate::Sample& sample = fresh == nullptr ? opened(job) : *fresh;
  const Evaluation evaluation = evaluator_.evaluate(states_[state], sample);
  std::optional<int> reference;
  if (fresh == nullptr) {
    const bool is_float_pass = evaluation.reference == &sample.outputs();
    reference = is_float_pass ? kFloatPass : evaluator_.split().suffix_of(states_[state]);
  }
  record(job, state, job.scores->score(state, evaluation, reference), false);
}

void StateRunner::run_task(Job& job, const Task& task) {
  switch (task.kind) {
    case Task::Kind::kReference:
      evaluator_.prepare_reference(opened(job), static_cast<int>(task.index));
      return;
    case Task::Kind::kState:
      run_state(job, task.index);
      return;
    case Task::Kind::kKept:
      if (std::optional<Answer> answer = job.scores->score_kept(task.index)) {
        record(job, task.index, std::move(*answer), true);
      } else {
        run_state(job, task.index);
      }
      return;
  }
}

void StateRunner::record(const Job& job, std::size_t state, Answer answer, bool kept) {
  const std::lock_guard lock(mutex_);
  AnswerRow& row = answers_[state];
  const auto at = static_cast<std::size_t>(job.index);
  if (row.size() <= at) row.resize(at + 1);
  row[at] = std::move(answer);
  ++num_done_;
  num_kept_ += kept ? 1 : 0;
}

// What this sample still needs: references and states to run, kept outputs to score. Answers that
// are known are recorded at once.
void StateRunner::plan_tasks(Job* job) {
  std::set<int> suffixes;
  std::vector<Task> kept;
  for (const std::size_t s : job->states) {
    if (std::optional<Answer> known = job->scores->known(s)) {
      record(*job, s, std::move(*known), true);
      continue;
    }
    if (job->scores->has_outputs(s)) {
      kept.push_back({Task::Kind::kKept, s});
      continue;
    }
    ensure_plan(job->source.feed);
    // Just before the first state that needs it: its session is then used again soon.
    const int suffix = evaluator_.split().suffix_of(states_[s]);
    if (evaluator_.shortcuts() && suffix < evaluator_.split().num_suffixes() &&
        suffixes.insert(suffix).second)
      job->tasks.push_back({Task::Kind::kReference, static_cast<std::size_t>(suffix)});
    job->tasks.push_back({Task::Kind::kState, s});
  }
  if (!job->tasks.empty()) opened(*job);
  job->tasks.insert(job->tasks.end(), kept.begin(), kept.end());
}

std::shared_ptr<StateRunner::Job> StateRunner::make_job(SampleWork work, SourceSample source) {
  auto job = std::make_shared<Job>();
  job->index = static_cast<std::int64_t>(work.place);
  job->source = std::move(source);
  job->states = std::move(work.states);
  job->scores.emplace(scoring_, job->source, states_.size());
  plan_tasks(job.get());
  return job;
}

std::optional<SourceSample> StateRunner::next_sample(SampleWork* work) {
  const std::lock_guard reading(source_mutex_);
  while (!source_ended_) {
    std::optional<SourceSample> next = std::exchange(pending_, std::nullopt);
    if (!next) {
      next.emplace();
      if (!source_.next(&next->feed)) {
        source_ended_ = true;
        return std::nullopt;
      }
      next->labels = source_.labels();
    }
    const std::size_t number = num_read_++;
    if (work_.empty()) {
      *work = {.place = number, .states = active_};
    } else {
      if (number + 1 == work_.size()) source_ended_ = true;
      if (!work_[number]) continue;
      *work = *std::exchange(work_[number], std::nullopt);
    }
    ++num_opened_;
    return next;
  }
  return std::nullopt;
}

void StateRunner::produce(std::unique_lock<std::mutex>& lock) {
  ++num_producing_;
  lock.unlock();
  std::shared_ptr<Job> job;
  try {
    SampleWork work;
    std::optional<SourceSample> next = next_sample(&work);
    if (next) {
      simulation_.check_feed(next->feed);
      job = make_job(std::move(work), std::move(*next));
    }
  } catch (...) {
    lock.lock();
    --num_producing_;
    throw;
  }
  lock.lock();
  --num_producing_;
  if (job != nullptr && !job->tasks.empty()) {
    jobs_.push_back(std::move(job));
    max_open_samples_ = evaluator_.open_samples();
  }
  changed_.notify_all();
}

void StateRunner::work() {
  std::unique_lock lock(mutex_);
  while (!stop_ && error_ == nullptr) {
    // The sample that lags behind: so the workers run the same session at about the same time, each
    // with a sample of its own, and share its weights in the cache.
    auto open = jobs_.end();
    for (auto job = jobs_.begin(); job != jobs_.end(); ++job) {
      if ((*job)->next_task == (*job)->tasks.size()) continue;
      if (open == jobs_.end() || (*job)->next_task < (*open)->next_task) open = job;
    }
    const bool may_open = !source_ended_ && jobs_.size() + num_producing_ < max_open_samples_;
    // A block of samples is opened as a whole, so that its states run in step.
    if (open == jobs_.end()) filling_ = true;
    if (!may_open) filling_ = false;
    try {
      if (may_open && (open == jobs_.end() || (filling_ && max_open_samples_ > 2))) {
        produce(lock);
      } else if (open != jobs_.end()) {
        // The queue may drop its own pointer while this thread works.
        // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
        const std::shared_ptr<Job> job = *open;
        const Task task = job->tasks[job->next_task++];
        lock.unlock();
        try {
          run_task(*job, task);
        } catch (...) {
          lock.lock();
          throw;
        }
        lock.lock();
        if (++job->num_finished == job->tasks.size()) {
          lock.unlock();
          job->scores->add_deltas(job->index);
          lock.lock();
          jobs_.erase(std::find(jobs_.begin(), jobs_.end(), job));
          changed_.notify_all();
          if (job->sample != nullptr) {
            lock.unlock();
            give_back_freed_memory(static_cast<std::size_t>(job->sample->size_bytes()), 0);
            lock.lock();
          }
        }
      } else if (source_ended_ && num_producing_ == 0) {
        break;
      } else {
        changed_.wait(lock);
      }
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      if (error_ == nullptr) error_ = std::current_exception();
      changed_.notify_all();
    }
  }
  --num_working_;
  changed_.notify_all();
}

void StateRunner::run(const std::vector<std::size_t>& active, std::optional<SourceSample> first,
                      int num_threads, const std::function<bool()>& on_tick) {
  work_.clear();
  active_ = active;
  put_expensive_first(&active_);
  if (first) pending_ = std::move(first);
  run_round(num_threads, on_tick);
}

void StateRunner::run(std::vector<std::optional<SampleWork>> work, int num_threads,
                      const std::function<bool()>& on_tick) {
  while (!work.empty() && !work.back()) work.pop_back();
  if (work.empty()) return;
  work_ = std::move(work);
  for (std::optional<SampleWork>& sample : work_) {
    if (sample) put_expensive_first(&sample->states);
  }
  source_.rewind();
  run_round(num_threads, on_tick);
}

void StateRunner::put_expensive_first(std::vector<std::size_t>* states) const {
  const auto start = [&](std::size_t s) {
    const auto change = change_of(network_, states_[s]);
    return change ? change->first : network_.order().size();
  };
  std::ranges::stable_sort(*states, {}, start);
}

void StateRunner::run_round(int num_threads, const std::function<bool()>& on_tick) {
  constexpr std::chrono::milliseconds kTick{100};
  num_read_ = 0;
  source_ended_ = false;
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

AnswerTable StateRunner::answers() const {
  const std::lock_guard lock(mutex_);
  return answers_;
}

std::int64_t StateRunner::num_done() const {
  const std::lock_guard lock(mutex_);
  return num_done_;
}

std::int64_t StateRunner::num_kept() const {
  const std::lock_guard lock(mutex_);
  return num_kept_;
}

std::int64_t StateRunner::num_samples_opened() const {
  const std::lock_guard lock(mutex_);
  return num_opened_;
}

}  // namespace bitsweep::sweeping
