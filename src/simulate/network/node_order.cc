#include "simulate/network/node_order.h"

#include <algorithm>
#include <set>

#include "graph/cuts.h"

namespace bitsweep::simulate {

using graph::TensorId;

NodeOrder::NodeOrder(const graph::Graph& graph) : graph_(&graph) {
  const std::size_t num_tensors = graph.tensors().size();
  position_.assign(graph.nodes().size(), -1);
  produced_.assign(num_tensors, -1);
  first_read_.assign(num_tensors, -1);
  last_read_.assign(num_tensors, -1);
  dynamic_.assign(num_tensors, 0);
  for (const TensorId t : graph.inputs()) dynamic_[static_cast<std::size_t>(t)] = 1;
  for (const int n : graph::non_constant_nodes(graph)) {
    const graph::Node& node = graph.node(n);
    const int p = size();
    position_[static_cast<std::size_t>(n)] = p;
    nodes_.push_back(n);
    for (const TensorId t : node.outputs) {
      if (t == graph::kAbsent) continue;
      produced_[static_cast<std::size_t>(t)] = p;
      dynamic_[static_cast<std::size_t>(t)] = 1;
    }
  }
  const auto read = [&](TensorId t, int first, int last) {
    if (t == graph::kAbsent || first < 0) return;
    int& from = first_read_[static_cast<std::size_t>(t)];
    int& to = last_read_[static_cast<std::size_t>(t)];
    from = from < 0 ? first : std::min(from, first);
    to = std::max(to, last);
  };
  for (int p = 0; p < size(); ++p) {
    const graph::Node& node = graph.node(nodes_[static_cast<std::size_t>(p)]);
    for (const TensorId t : node.inputs) read(t, p, p);
    for (const TensorId t : node.captured) read(t, p, p);
  }
  // A static tensor behind constant nodes is read where their results are: backwards, so that
  // chains resolve.
  for (int n = static_cast<int>(graph.nodes().size()) - 1; n >= 0; --n) {
    const graph::Node& node = graph.node(n);
    if (!node.is_constant) continue;
    for (const TensorId out : node.outputs) {
      if (out == graph::kAbsent) continue;
      for (const TensorId t : node.inputs) read(t, first_read(out), last_read(out));
      for (const TensorId t : node.captured) read(t, first_read(out), last_read(out));
    }
  }
}

std::vector<TensorId> NodeOrder::live(int position) const {
  std::vector<TensorId> result;
  for (TensorId t = 0; t < static_cast<TensorId>(graph_->tensors().size()); ++t) {
    if (!is_dynamic(t) || produced_at(t) >= position) continue;
    const bool needed_later = last_read(t) >= position;
    // A graph output made early is kept; one that is a graph input too is answered from the feed.
    if (needed_later || graph_->tensor(t).is_output) result.push_back(t);
  }
  return result;
}

std::vector<char> NodeOrder::affected_by(const std::vector<TensorId>& sources) const {
  std::vector<char> affected(graph_->tensors().size(), 0);
  for (const TensorId t : sources) affected[static_cast<std::size_t>(t)] = 1;
  const auto any = [&](const std::vector<TensorId>& tensors) {
    return std::any_of(tensors.begin(), tensors.end(), [&](TensorId t) {
      return t != graph::kAbsent && affected[static_cast<std::size_t>(t)] != 0;
    });
  };
  for (const graph::Node& node : graph_->nodes()) {
    if (!any(node.inputs) && !any(node.captured)) continue;
    for (const TensorId t : node.outputs) {
      if (t != graph::kAbsent) affected[static_cast<std::size_t>(t)] = 1;
    }
  }
  return affected;
}

std::vector<TensorId> NodeOrder::inputs_of(int begin, int end) const {
  std::set<TensorId> needed;
  const auto need = [&](TensorId t) {
    if (t != graph::kAbsent && is_dynamic(t) && produced_at(t) < begin) needed.insert(t);
  };
  for (int p = begin; p < end; ++p) {
    const graph::Node& node = graph_->node(nodes_[static_cast<std::size_t>(p)]);
    for (const TensorId t : node.inputs) need(t);
    for (const TensorId t : node.captured) need(t);
  }
  return {needed.begin(), needed.end()};
}

}  // namespace bitsweep::simulate
