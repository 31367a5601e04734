#include "sweep/sample_scores.h"

#include <utility>

namespace bitsweep::sweeping {

SampleScores::SampleScores(const Scoring& scoring, const SourceSample& sample,
                           std::size_t num_states)
    : scoring_(scoring), sample_(sample) {
  if (scoring.deltas != nullptr) deltas_.resize(num_states);
  if (scoring.kept.directory == nullptr) return;
  key_ = journal::key_of(sample.feed);
  for (const MetricChoice& metric : scoring.kept.metrics) {
    const bool labelled = find_metric(metric.name).needs_labels;
    metric_keys_.push_back(
        journal::key_of(metric.name, metric.options, labelled ? sample.labels : Tensor()));
  }
  stored_ = scoring.kept.directory->answers(key_);
  for (const auto& [state, answer] : stored_) {
    if (!answer.outputs) continue;
    std::unique_ptr<Reference>& reference = kept_references_[answer.outputs->second];
    if (reference == nullptr) reference = std::make_unique<Reference>();
  }
}

const journal::StoredAnswer* SampleScores::stored(std::size_t state) const {
  if (scoring_.kept.directory == nullptr) return nullptr;
  const auto found = stored_.find(scoring_.state_keys[state]);
  return found == stored_.end() ? nullptr : &found->second;
}

std::optional<Answer> SampleScores::known(std::size_t state) const {
  const journal::StoredAnswer* const found = stored(state);
  if (found == nullptr || scoring_.deltas != nullptr) return std::nullopt;
  Answer answer;
  for (const journal::Key& metric : metric_keys_) {
    const auto sums = found->sums.find(metric);
    if (sums == found->sums.end()) return std::nullopt;
    answer.push_back(sums->second);
  }
  return answer;
}

bool SampleScores::has_outputs(std::size_t state) const {
  const journal::StoredAnswer* const found = stored(state);
  return found != nullptr && found->outputs;
}

SampleScores::Reference& SampleScores::shared_reference(int number) {
  const std::lock_guard lock(references_mutex_);
  return references_[number];
}

void SampleScores::prepare(Reference& reference, std::span<const Tensor> outputs) const {
  std::call_once(reference.once, [&] {
    for (const MetricAccumulator* metric : scoring_.metrics)
      reference.by_metric.push_back(metric->prepare(outputs, sample_.labels));
    reference.outputs.assign(outputs.begin(), outputs.end());
  });
}

Answer SampleScores::compare(std::size_t state, const Reference& reference,
                             std::span<const Tensor> outputs) {
  Answer answer;
  for (std::size_t m = 0; m < scoring_.metrics.size(); ++m) {
    const std::unique_ptr<MetricAccumulator> total = scoring_.metrics[m]->fresh();
    total->add(*reference.by_metric[m], outputs);
    answer.push_back(total->state());
  }
  if (scoring_.deltas != nullptr) {
    deltas_[state] = scoring_.deltas->delta(outputs, reference.outputs);
    if (state == 0) float_outputs_ = reference.outputs;
  }
  return answer;
}

void SampleScores::keep(std::size_t state, const Answer& answer, journal::NewAnswer found) const {
  if (scoring_.kept.directory == nullptr) return;
  for (std::size_t m = 0; m < scoring_.metrics.size(); ++m)
    found.sums.emplace_back(metric_keys_[m], answer[m]);
  scoring_.kept.directory->put(key_, scoring_.state_keys[state], found);
}

std::optional<Answer> SampleScores::score_kept(std::size_t state) {
  const auto [simulated_at, reference_at] = *stored(state)->outputs;
  const auto outputs = scoring_.kept.directory->outputs(simulated_at);
  const auto float_outputs = scoring_.kept.directory->outputs(reference_at);
  if (!outputs || !float_outputs) return std::nullopt;
  Reference& reference = *kept_references_.at(reference_at);
  prepare(reference, *float_outputs);
  Answer answer = compare(state, reference, *outputs);
  keep(state, answer, {});
  return answer;
}

Answer SampleScores::score(std::size_t state, const simulate::Evaluation& evaluation,
                           std::optional<int> reference) {
  Reference own;
  Reference& compared = reference ? shared_reference(*reference) : own;
  prepare(compared, *evaluation.reference);
  Answer answer = compare(state, compared, evaluation.outputs);
  keep(state, answer, {.outputs = &evaluation.outputs, .reference = evaluation.reference});
  return answer;
}

void SampleScores::add_deltas(std::int64_t place) const {
  if (scoring_.deltas != nullptr) scoring_.deltas->add_sample(place, deltas_, float_outputs_);
}

}  // namespace bitsweep::sweeping
