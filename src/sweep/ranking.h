#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bitsweep/metric.h"
#include "bitsweep/sweep.h"
#include "sweep/answers.h"
#include "sweep/sample_order.h"
#include "sweep/state_table.h"

namespace bitsweep::sweeping {

/// One metric of a sweep.
struct ScoredMetric {
  const MetricAccumulator* accumulator = nullptr;
  std::size_t index = 0;  ///< in an Answer
  Better better = Better::kHigher;
};

/// Score of one state over its first `num_samples` samples, at least one.
double score_of(const ScoredMetric& metric, const AnswerRow& row, std::size_t num_samples);

/// Rows of all groups that have an answer, in the order of the mode. Groups count with the samples
/// that all of them finished; in an adaptive sweep, which has an `order`, each with all of its own,
/// and these stand for the others too.
std::vector<SweepScore> rank(const StateTable& table, const AnswerTable& answers,
                             const ScoredMetric& metric, SweepMode mode, const SampleOrder* order);

/// Samples that every state finished.
std::size_t common_samples(const AnswerTable& answers);

/// Adds intervals and ties to ranked rows.
void add_certainty(const StateTable& table, const AnswerTable& answers, const ScoredMetric& metric,
                   std::uint64_t seed, const SampleOrder* order, std::vector<SweepScore>* rows);

}  // namespace bitsweep::sweeping
