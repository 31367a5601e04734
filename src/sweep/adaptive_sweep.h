#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "bitsweep/sweep.h"
#include "sweep/adaptive.h"
#include "sweep/block_search.h"
#include "sweep/sample_order.h"
#include "sweep/state_runner.h"
#include "sweep/state_table.h"
#include "sweep/work_budget.h"

namespace bitsweep::sweeping {

/// A sweep that ends the work on groups far from the boundary of a decision: see AdaptiveOptions.
class AdaptiveSweep {
 public:
  AdaptiveSweep(const AdaptiveOptions& options, const Sensitivity& sensitivity, SweepMode mode,
                const StateTable& table, StateRunner& runner, std::uint64_t seed);

  /// Evaluates, with those states in `on_every_sample` that are of no group too; until stopped, as
  /// StateRunner does.
  void run(const std::vector<std::size_t>& on_every_sample, SourceSample first, int num_threads,
           const std::function<bool()>& on_tick);

  /// Once the samples are known.
  const SampleOrder* order() const { return order_ ? &*order_ : nullptr; }
  /// After a run that was not stopped.
  Stability stability() const;

 private:
  std::size_t add_block(const std::vector<std::size_t>& members);
  void add_pilots();
  SampleOrder order_by_pilots() const;
  AnswerTable answers() const;
  /// Of states of the table.
  Work work_of(const std::vector<Evaluation>& evaluations) const;
  std::vector<Evaluation> missing() const;
  /// @returns false when the sweep was stopped.
  bool evaluate(const std::vector<Evaluation>& evaluations);
  /// Among those that `trial` closed.
  void search(const AdaptiveStop& trial, WorkBudget* budget);

  AdaptiveOptions options_;
  Sensitivity sensitivity_;
  const StateTable& table_;
  StateRunner& runner_;
  std::uint64_t seed_;
  int num_threads_ = 1;
  std::function<bool()> on_tick_;
  std::vector<double> costs_;  // by state of the table
  std::vector<std::size_t> pilots_;
  std::size_t quiet_ = 0;  // the state without error
  std::optional<SampleOrder> order_;
  std::optional<AdaptiveStop> stop_;
  bool errors_add_up_;  // of states that are on together
  bool searched_all_;
};

}  // namespace bitsweep::sweeping
