#include "simulate/reuse/split_network.h"

#include <algorithm>
#include <set>

namespace bitsweep::simulate {

using graph::TensorId;

SplitNetwork::SplitNetwork(const Network& network, const Shapes& shapes, const EvaluationPlan& plan)
    : network_(&network), cuts_(plan.cuts) {
  for (const int cut : cuts_) suffixes_.push_back(make_suffix(network, shapes, cut, {}));
  for (const auto& [cut, changed] : plan.partial_suffixes) {
    partial_.emplace(std::pair{cut, changed}, num_suffixes());
    suffixes_.push_back(
        make_suffix(network, shapes, cuts_[static_cast<std::size_t>(cut)], changed));
  }
  std::set<TensorId> kept;
  for (const int cut : cuts_) {
    for (const TensorId t : network.order().live(cut)) kept.insert(t);
  }
  for (const Suffix& suffix : suffixes_) kept.insert(suffix.inputs.begin(), suffix.inputs.end());
  kept_tensors_.assign(kept.begin(), kept.end());
}

Span SplitNetwork::span_of(const Change& change) const {
  return simulate::span_of(change, cuts_, network_->order().size());
}

int SplitNetwork::suffix_of(const State& state) const {
  const std::optional<Change> change = change_of(*network_, state);
  return change ? suffix_behind(state, span_of(*change)) : num_suffixes();
}

int SplitNetwork::suffix_behind(const State& state, Span span) const {
  const auto cut = std::lower_bound(cuts_.begin(), cuts_.end(), span.end);
  if (cut == cuts_.end()) return num_suffixes();
  const int index = static_cast<int>(cut - cuts_.begin());
  if (partial_.empty()) return index;
  const auto partial = partial_.find({index, changed_at(*network_, state, span.end)});
  return partial == partial_.end() ? index : partial->second;
}

}  // namespace bitsweep::simulate
