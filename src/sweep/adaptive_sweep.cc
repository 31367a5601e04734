#include "sweep/adaptive_sweep.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "bitsweep/error.h"

namespace bitsweep::sweeping {
namespace {

// One pilot is a part of the network this long, and every second part has one: neighbours fail on
// the same samples, so that parts say more than mixtures.
constexpr std::size_t kGroupsPerPart = 16;
constexpr std::size_t kMaxParts = 16;
// Of a whole sweep: what the search may cost beside its blocks.
constexpr double kSplitting = 0.02;
// Of the float passes that may be run, how many are planned: a plan leaves out the float suffixes
// that states are compared with until these are known to repeat the float pass.
constexpr double kPlannedPasses = 0.85;

}  // namespace

AdaptiveSweep::AdaptiveSweep(const AdaptiveOptions& options, const Sensitivity& sensitivity,
                             SweepMode mode, const StateTable& table, StateRunner& runner,
                             std::uint64_t seed)
    : options_(options),
      sensitivity_(sensitivity),
      table_(table),
      runner_(runner),
      seed_(seed),
      errors_add_up_(mode == SweepMode::kEnableOne),
      searched_all_(errors_add_up_) {
  for (std::size_t s = 0; s < table.states.size(); ++s) costs_.push_back(runner.cost(s));
}

std::size_t AdaptiveSweep::add_block(const std::vector<std::size_t>& members) {
  std::vector<simulate::State> states;
  for (const std::size_t member : members) states.push_back(table_.states[member]);
  return runner_.add_state(union_of(states));
}

void AdaptiveSweep::add_pilots() {
  const std::size_t num_states = table_.states.size();
  const std::size_t num_parts = std::clamp<std::size_t>(num_states / kGroupsPerPart, 1, kMaxParts);
  // From the last part backwards, which is the cheapest one.
  for (std::size_t p = num_parts; p > 0; p -= std::min<std::size_t>(p, 2)) {
    std::vector<std::size_t> members;
    for (std::size_t s = (p - 1) * num_states / num_parts; s < p * num_states / num_parts; ++s)
      members.push_back(s);
    pilots_.push_back(add_block(members));
  }
}

SampleOrder AdaptiveSweep::order_by_pilots() const {
  const AnswerTable answers = runner_.answers();
  const auto sums_of = [&](std::size_t state) {  // which ran on every sample
    SampleSums sums;
    for (const std::optional<Answer>& answer : answers[state])
      sums.push_back((*answer)[sensitivity_.metric.index]);
    return sums;
  };
  const SampleSums quiet = sums_of(quiet_);
  if (quiet.size() < 2) {
    throw Error(ErrorCode::kInvalidData, "sweep",
                "one sample cannot tell whether the ranking is stable",
                "give more samples, or leave until_stable out");
  }
  std::vector<SampleSums> sums;
  for (const std::size_t pilot : pilots_) sums.push_back(sums_of(pilot));
  return {*sensitivity_.metric.accumulator, sums, quiet, seed_};
}

// By place: those that ran before there was an order have theirs by sample.
AnswerTable AdaptiveSweep::answers() const {
  AnswerTable answers = runner_.answers();
  std::vector<std::size_t> early = pilots_;
  early.push_back(quiet_);
  for (const std::size_t state : early) {
    const AnswerRow by_sample = std::move(answers[state]);
    answers[state].clear();
    for (std::size_t place = 0; place < order_->size(); ++place)
      answers[state].push_back(by_sample[order_->sample(place)]);
  }
  return answers;
}

Work AdaptiveSweep::work_of(const std::vector<Evaluation>& evaluations) const {
  Work work;
  std::set<std::size_t> places;
  for (const auto& [state, place] : evaluations) {
    work += {.evaluations = 1.0, .passes = costs_[state]};
    places.insert(place);
  }
  work.passes += static_cast<double>(places.size());  // the float passes
  return work;
}

bool AdaptiveSweep::evaluate(const std::vector<Evaluation>& evaluations) {
  std::vector<std::optional<SampleWork>> work(order_->size());
  for (const auto& [state, place] : evaluations) {
    std::optional<SampleWork>& sample = work[order_->sample(place)];
    if (!sample) sample.emplace().place = place;
    sample->states.push_back(state);
  }
  const std::int64_t before = runner_.num_done();
  runner_.run(std::move(work), num_threads_, on_tick_);
  if (runner_.stopped()) return false;
  if (runner_.num_done() - before < std::ssize(evaluations)) {
    throw Error(ErrorCode::kInvalidData, "sweep",
                "the samples were fewer when they were read again",
                "give the same samples in every pass, or leave until_stable out");
  }
  return true;
}

// Of the open states, up to the samples of the next round.
std::vector<Evaluation> AdaptiveSweep::missing() const {
  const AnswerTable all = answers();
  std::vector<Evaluation> evaluations;
  for (const std::size_t state : stop_->open()) {
    const AnswerRow& row = all[state];
    for (std::size_t place = 0; place < stop_->next_samples(); ++place) {
      if (place >= row.size() || !row[place]) evaluations.push_back({state, place});
    }
  }
  return evaluations;
}

void AdaptiveSweep::search(const AdaptiveStop& trial, WorkBudget* budget) {
  BlockSearch search(
      sensitivity_, trial,
      {.join = [&](const std::vector<std::size_t>& members) { return add_block(members); },
       .run =
           [&](const std::vector<Evaluation>& evaluations) {
             return evaluate(evaluations) ? answers() : AnswerTable();
           },
       .cost = [&](std::size_t state) { return runner_.cost(state); }});
  for (const std::size_t state : search.find(quiet_, stop_->next_samples(), order_->size(), budget))
    stop_->keep(state);
  searched_all_ = search.complete();
}

void AdaptiveSweep::run(const std::vector<std::size_t>& on_every_sample, SourceSample first,
                        int num_threads, const std::function<bool()>& on_tick) {
  num_threads_ = num_threads;
  on_tick_ = on_tick;
  add_pilots();
  quiet_ = runner_.add_state({});
  std::vector<std::size_t> whole = on_every_sample;
  whole.push_back(quiet_);
  whole.insert(whole.end(), pilots_.begin(), pilots_.end());
  runner_.run(whole, std::move(first), num_threads, on_tick);
  if (runner_.stopped()) return;
  order_.emplace(order_by_pilots());
  const auto num_samples = static_cast<double>(order_->size());
  const auto work_on_a_sample = [&](const std::vector<std::size_t>& states) {
    Work work{.passes = 1.0};  // the float pass
    for (const std::size_t state : states)
      work += {.evaluations = 1.0, .passes = runner_.cost(state)};
    return work;
  };
  stop_.emplace(options_, sensitivity_, costs_, order_->size());
  const Work all = num_samples * work_on_a_sample(stop_->open());
  WorkBudget budget(options_.work *
                    Work{.evaluations = all.evaluations, .passes = kPlannedPasses * all.passes});
  budget.spend(num_samples * work_on_a_sample(pilots_));
  for (bool is_first = true; !stop_->open().empty(); is_first = false) {
    const std::vector<Evaluation> evaluations = missing();
    budget.spend(work_of(evaluations));
    if (!evaluate(evaluations)) return;
    if (is_first && errors_add_up_ && stop_->next_samples() < order_->size()) {
      // What would be closed is searched first; what the search leaves of its work goes to the
      // rounds.
      Work reserve = kSplitting * all;
      reserve += BlockSearch::work_of_blocks(costs_, order_->size() - stop_->next_samples());
      WorkBudget for_search(reserve);
      budget.spend(reserve);
      AdaptiveStop trial = *stop_;
      trial.settle(answers(), budget);
      search(trial, &for_search);
      if (runner_.stopped()) return;
      budget.spend(-1.0 * for_search.left());
    }
    stop_->settle(answers(), budget);
  }
}

Stability AdaptiveSweep::stability() const {
  Stability stability;
  for (std::size_t g = 0; g < table_.names.size(); ++g) {
    if (stop_->selected(table_.state_of_group[g])) stability.selected.push_back(table_.names[g]);
  }
  stability.confidence = stop_->confidence(answers(), pilots_);
  stability.settled = searched_all_ && stability.confidence >= options_.confidence;
  stability.num_evaluations = runner_.num_done();
  stability.num_without_stopping = static_cast<std::int64_t>(table_.states.size() * order_->size());
  return stability;
}

}  // namespace bitsweep::sweeping
