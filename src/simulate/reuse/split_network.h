#pragma once

#include <map>
#include <utility>
#include <vector>

#include "simulate/parts/suffix.h"
#include "simulate/reuse/evaluation_plan.h"

namespace bitsweep::simulate {

/// The network at the cuts of a plan: which span of it a state runs, and which suffix finishes it.
class SplitNetwork {
 public:
  SplitNetwork(const Network& network, const Shapes& shapes, const EvaluationPlan& plan);

  int num_suffixes() const { return static_cast<int>(suffixes_.size()); }
  /// One per cut, then the partial ones.
  const Suffix& suffix(int index) const { return suffixes_[static_cast<std::size_t>(index)]; }
  /// Index of the suffix that finishes the state; num_suffixes() when it runs to the end of the
  /// network in one go.
  int suffix_of(const State& state) const;

  /// What runs of a state with this change.
  Span span_of(const Change& change) const;
  /// Index of the suffix that finishes the state behind its span.
  int suffix_behind(const State& state, Span span) const;
  /// Tensors of the float pass that states need, ascending.
  const std::vector<graph::TensorId>& kept_tensors() const { return kept_tensors_; }

 private:
  const Network* network_;
  Cuts cuts_;
  std::vector<Suffix> suffixes_;
  std::map<std::pair<int, std::vector<graph::TensorId>>, int> partial_;  // cut, changed -> suffix
  std::vector<graph::TensorId> kept_tensors_;
};

}  // namespace bitsweep::simulate
