#include "simulate/parts/change.h"

#include <algorithm>

namespace bitsweep::simulate {

using graph::TensorId;

std::optional<int> Change::taken_at(const Cuts& cuts) const {
  const auto behind = std::upper_bound(cuts.begin(), cuts.end(), read);
  if (behind == cuts.begin() || *(behind - 1) <= made) return std::nullopt;
  return *(behind - 1);
}

std::optional<Change> change_of(const Network& network, const State& state) {
  const NodeOrder& order = network.order();
  std::optional<Change> change;
  const auto extend = [&](const Change& site) {
    if (!change) {
      change = site;
      return;
    }
    change->first = std::min(change->first, site.first);
    change->last = std::max(change->last, site.last);
    change->made = std::max(change->made, site.made);
    change->read = std::min(change->read, site.read);
  };
  for (const int s : state) {
    const TensorId t = network.site(s).tensor;
    const bool is_read = order.first_read(t) >= 0;
    if (!is_read && !network.graph().tensor(t).is_output) continue;  // dead
    const int read = is_read ? order.first_read(t) : order.size() - 1;
    const int made = order.produced_at(t);
    if (made >= 0) {
      extend({.first = made, .last = made, .made = made, .read = read});
    } else if (order.is_dynamic(t)) {
      const int first = is_read ? read : 0;
      extend({.first = first, .last = first, .made = 0, .read = read});
    } else if (is_read) {
      extend({.first = read, .last = order.last_read(t), .made = order.size(), .read = read});
    }
  }
  return change;
}

Span span_of(const Change& change, const Cuts& cuts, int size) {
  if (const std::optional<int> cut = change.taken_at(cuts)) return {*cut, *cut};
  const auto from = std::upper_bound(cuts.begin(), cuts.end(), change.first);
  const auto to = std::upper_bound(cuts.begin(), cuts.end(), change.last);
  return {from == cuts.begin() ? 0 : *(from - 1), to == cuts.end() ? size : *to};
}

bool acts_in(const Network& network, int site, Span span) {
  const NodeOrder& order = network.order();
  const TensorId t = network.site(site).tensor;
  if (order.produced_at(t) >= 0)
    return order.produced_at(t) >= span.begin && order.produced_at(t) < span.end;
  if (order.is_dynamic(t)) {
    const int first = std::max(0, order.first_read(t));
    return first >= span.begin && (first < span.end || order.size() == 0);
  }
  return order.first_read(t) < span.end && order.last_read(t) >= span.begin;
}

std::vector<TensorId> made_in(const Network& network, const State& state, Span span,
                              std::vector<TensorId> tensors) {
  const auto is_quantized_here = [&](TensorId t) {
    return std::ranges::any_of(
        state, [&](int s) { return network.site(s).tensor == t && acts_in(network, s, span); });
  };
  std::erase_if(tensors, [&](TensorId t) {
    return network.order().produced_at(t) < span.begin && !is_quantized_here(t);
  });
  return tensors;
}

std::vector<TensorId> changed_at(const Network& network, const State& state, int position) {
  std::vector<TensorId> sources;
  for (const int s : state) sources.push_back(network.site(s).tensor);
  const std::vector<char> affected = network.order().affected_by(sources);
  std::vector<TensorId> changed = network.order().live(position);
  std::erase_if(changed, [&](TensorId t) { return affected[static_cast<std::size_t>(t)] == 0; });
  return changed;
}

}  // namespace bitsweep::simulate
