#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "sweep/adaptive.h"
#include "sweep/answers.h"
#include "sweep/work_budget.h"

namespace bitsweep::sweeping {

/// A state on the sample at a place in the order.
struct Evaluation {
  std::size_t state = 0;
  std::size_t place = 0;
};

/// What runs states for a search.
struct BlockRunner {
  /// Makes a state in which all of these are on. @returns its index.
  std::function<std::size_t(const std::vector<std::size_t>& members)> join;
  /// Gives the answers of all states so far, with these among them; an empty table when the sweep
  /// was stopped.
  std::function<AnswerTable(const std::vector<Evaluation>& evaluations)> run;
  /// Of a state on a sample, in float passes.
  std::function<double(std::size_t state)> cost;
};

/// Searches closed states for those whose error sits on samples that they were not run on (group
/// testing: Dorfman 1943, The Detection of Defective Members of Large Populations).
///
/// States are on together, every second one of a part of the network in one run, on every sample
/// that is left: 1/48 of the evaluations of running them one by one. Where the error of a block on
/// a sample would lift one of its members over the boundary, the block is split until the one is
/// found. Errors of members may cancel, and saturate where the network ends in a softmax: the
/// search finds most of them, not all.
class BlockSearch {
 public:
  BlockSearch(const Sensitivity& sensitivity, const AdaptiveStop& stop, BlockRunner runner);

  /// Of the blocks of all states, on `num_samples`: no search needs more before it splits.
  static Work work_of_blocks(const std::vector<double>& costs, std::size_t num_samples);

  /// @returns those of the states closed first that may belong to the selection. They have the
  /// first `num_seen` of `num_samples`; `quiet`, a state without error, has all of them. Splits
  /// while the budget allows it.
  std::vector<std::size_t> find(std::size_t quiet, std::size_t num_seen, std::size_t num_samples,
                                WorkBudget* budget);
  /// False: the budget ended before all that stood out was split.
  bool complete() const { return complete_; }

 private:
  /// Members that are on together, on one sample.
  struct Cell {
    std::vector<std::size_t> members;
    Evaluation evaluation;
    double lift = 0.0;  ///< how far it would bring a member over the boundary
  };

  Cell cell_of(std::vector<std::size_t> members, std::size_t place);
  std::vector<Cell> parts_of(const Cell& cell);
  Work work_of(const std::vector<Cell>& cells) const;
  /// @returns false when the sweep was stopped.
  bool run(const std::vector<Cell>& cells);
  double lift_of(const Cell& cell) const;

  Sensitivity sensitivity_;
  const AdaptiveStop& stop_;
  BlockRunner runner_;
  std::map<std::vector<std::size_t>, std::size_t> states_;  // by their members
  std::size_t quiet_ = 0;
  std::size_t num_seen_ = 0;
  AnswerTable answers_;
  bool complete_ = true;
};

}  // namespace bitsweep::sweeping
