#include "sweep/ranking.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "sweep/certainty.h"

namespace bitsweep::sweeping {
namespace {

std::unique_ptr<MetricAccumulator> total_of(const ScoredMetric& metric, const AnswerRow& row,
                                            const std::vector<std::size_t>& places) {
  std::unique_ptr<MetricAccumulator> total = metric.accumulator->fresh();
  for (const std::size_t place : places) total->merge((*row[place])[metric.index]);
  return total;
}

// Places that the first `num_samples` ones stand for.
std::vector<std::size_t> places_of(const SampleOrder* order, std::size_t num_samples) {
  if (order != nullptr) return order->stand_ins(num_samples);
  std::vector<std::size_t> places(num_samples);
  std::iota(places.begin(), places.end(), std::size_t{0});
  return places;
}

SampleSums sums_of(const ScoredMetric& metric, const AnswerRow& row, std::size_t num_samples) {
  SampleSums sums;
  for (std::size_t i = 0; i < num_samples; ++i) sums.push_back((*row[i])[metric.index]);
  return sums;
}

/// Every group has seen the same samples: one set of draws serves them all.
void add_certainty_by_common_draws(const std::vector<std::size_t>& state_of_row,
                                   const AnswerTable& answers, const ScoredMetric& metric,
                                   std::size_t num_samples, const Draws& draws,
                                   std::vector<SweepScore>* rows) {
  std::vector<SampleSums> sums;
  sums.reserve(answers.size());
  for (const AnswerRow& row : answers) sums.push_back(sums_of(metric, row, num_samples));
  const Bootstrap bootstrap(*metric.accumulator, sums, draws);
  for (std::size_t i = 0; i < rows->size(); ++i) {
    (*rows)[i].interval = bootstrap.interval(state_of_row[i]);
    (*rows)[i].tied_with_next =
        i + 1 < rows->size() && bootstrap.tied(state_of_row[i], state_of_row[i + 1]);
  }
}

/// Groups differ in their samples: neighbours are compared on those that both have.
void add_certainty_pair_by_pair(const std::vector<std::size_t>& state_of_row,
                                const AnswerTable& answers, const ScoredMetric& metric,
                                std::uint64_t seed, const SampleOrder* order,
                                std::vector<SweepScore>* rows) {
  const auto draws_of = [&](std::size_t n) { return resampled(places_of(order, n), seed); };
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const AnswerRow& own = answers[state_of_row[i]];
    const std::size_t num_own = num_answers(own);
    if (num_own >= 2) {
      const Bootstrap alone(*metric.accumulator, {sums_of(metric, own, num_own)},
                            draws_of(num_own));
      (*rows)[i].interval = alone.interval(0);
    }
    if (i + 1 == rows->size()) continue;
    const AnswerRow& next = answers[state_of_row[i + 1]];
    const std::size_t both = std::min(num_own, num_answers(next));
    (*rows)[i].tied_with_next =
        both < 2 ||
        Bootstrap(*metric.accumulator, {sums_of(metric, own, both), sums_of(metric, next, both)},
                  draws_of(both))
            .tied(0, 1);
  }
}

}  // namespace

double score_of(const ScoredMetric& metric, const AnswerRow& row, std::size_t num_samples) {
  return total_of(metric, row, places_of(nullptr, num_samples))->score();
}

std::size_t common_samples(const AnswerTable& answers) {
  std::size_t common = answers.empty() ? 0 : num_answers(answers.front());
  for (const AnswerRow& row : answers) common = std::min(common, num_answers(row));
  return common;
}

std::vector<SweepScore> rank(const StateTable& table, const AnswerTable& answers,
                             const ScoredMetric& metric, SweepMode mode, const SampleOrder* order) {
  // When a state has no sample yet, the others show what they have of the first one.
  const std::size_t common = std::max<std::size_t>(1, common_samples(answers));
  std::vector<SweepScore> rows;
  for (std::size_t g = 0; g < table.names.size(); ++g) {
    const AnswerRow& row = answers[table.state_of_group[g]];
    const std::size_t wanted = order != nullptr ? num_answers(row) : common;
    if (wanted == 0 || num_answers(row) < wanted) continue;
    const std::unique_ptr<MetricAccumulator> total =
        total_of(metric, row, places_of(order, wanted));
    SweepScore score;
    score.name = table.names[g];
    score.score = total->score();
    score.per_output = total->output_scores();
    for (std::size_t i = 0; i < wanted; ++i) {
      const std::unique_ptr<MetricAccumulator> sample = metric.accumulator->fresh();
      sample->merge((*row[i])[metric.index]);
      score.per_sample.push_back(sample->score());
    }
    rows.push_back(std::move(score));
  }
  if (mode != SweepMode::kCumulative) {
    // Without the most sensitive group the rest is at its best.
    const bool low_first = (metric.better == Better::kHigher) == (mode == SweepMode::kEnableOne);
    std::stable_sort(rows.begin(), rows.end(), [&](const SweepScore& a, const SweepScore& b) {
      return low_first ? a.score < b.score : a.score > b.score;
    });
  }
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].rank = static_cast<std::int64_t>(i) + 1;
  return rows;
}

void add_certainty(const StateTable& table, const AnswerTable& answers, const ScoredMetric& metric,
                   std::uint64_t seed, const SampleOrder* order, std::vector<SweepScore>* rows) {
  std::map<std::string, std::size_t, std::less<>> state_of;
  for (std::size_t g = 0; g < table.names.size(); ++g)
    state_of.emplace(table.names[g], table.state_of_group[g]);
  std::vector<std::size_t> state_of_row;
  bool same_samples = true;
  for (const SweepScore& row : *rows) {
    state_of_row.push_back(state_of.at(row.name));
    same_samples = same_samples && row.per_sample.size() == rows->front().per_sample.size();
  }
  if (rows->empty()) return;
  if (!same_samples) {
    add_certainty_pair_by_pair(state_of_row, answers, metric, seed, order, rows);
    return;
  }
  const std::size_t num_samples = rows->front().per_sample.size();
  if (num_samples >= 2 && num_samples <= common_samples(answers))
    add_certainty_by_common_draws(state_of_row, answers, metric, num_samples,
                                  resampled(places_of(order, num_samples), seed), rows);
}

}  // namespace bitsweep::sweeping
