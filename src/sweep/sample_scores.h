#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "bitsweep/metric.h"
#include "bitsweep/sweep.h"
#include "simulate/reuse/evaluator.h"
#include "sweep/answers.h"
#include "sweep/delta_sums.h"
#include "sweep/journal/content_key.h"
#include "sweep/journal/run_directory.h"

namespace bitsweep::sweeping {

/// Where answers are kept, and the keys under which they are found.
struct KeptAnswers {
  journal::RunDirectory* directory = nullptr;
  const journal::StateKeys* keys = nullptr;  ///< as long as there is a directory
  std::vector<MetricChoice> metrics;
};

/// What makes answers of outputs.
struct Scoring {
  std::vector<const MetricAccumulator*> metrics;  ///< each gives one entry of an Answer
  KeptAnswers kept;
  DeltaSums* deltas = nullptr;             ///< may be null
  std::vector<journal::Key> state_keys{};  ///< by state, where there is a directory
};

/// A sample as its source gives it.
struct SourceSample {
  Feed feed;
  Tensor labels;
};

/// The answers of states on one sample: scored by each metric, looked up in the run directory and
/// kept there. Thread-safe.
class SampleScores {
 public:
  /// Both are to outlive it.
  SampleScores(const Scoring& scoring, const SourceSample& sample, std::size_t num_states);

  /// Sums that are kept; nullopt unless they answer everything.
  std::optional<Answer> known(std::size_t state) const;
  /// Whether outputs are kept that can be scored again.
  bool has_outputs(std::size_t state) const;
  /// nullopt when the kept outputs are damaged.
  std::optional<Answer> score_kept(std::size_t state);
  /// `reference`: number of the float outputs that the evaluation is compared with, so that states
  /// with the same ones share what metrics prepare of them; nullopt: its own.
  Answer score(std::size_t state, const simulate::Evaluation& evaluation,
               std::optional<int> reference);
  /// When all states are scored. `place`: of the sample.
  void add_deltas(std::int64_t place) const;

 private:
  /// Float outputs, prepared for each metric.
  struct Reference {
    std::once_flag once;
    std::vector<Tensor> outputs;
    std::vector<std::shared_ptr<const MetricReference>> by_metric;
  };

  const journal::StoredAnswer* stored(std::size_t state) const;
  Reference& shared_reference(int number);
  void prepare(Reference& reference, std::span<const Tensor> outputs) const;
  Answer compare(std::size_t state, const Reference& reference, std::span<const Tensor> outputs);
  void keep(std::size_t state, const Answer& answer, journal::NewAnswer found) const;

  const Scoring& scoring_;
  const SourceSample& sample_;
  journal::Key key_;
  std::vector<journal::Key> metric_keys_;
  std::map<journal::Key, journal::StoredAnswer> stored_;                // by state
  std::map<std::int64_t, std::unique_ptr<Reference>> kept_references_;  // by place in the directory
  std::mutex references_mutex_;
  std::map<int, Reference> references_;
  std::vector<Delta> deltas_;          // by state
  std::vector<Tensor> float_outputs_;  // those the first state is compared with
};

}  // namespace bitsweep::sweeping
