#pragma once

#include <set>

#include "graph/pieces/subgraph.h"

namespace bitsweep::graph {

/// What belongs to a piece: the nodes asked for, the constant ones that these need, and the static
/// tensors that all of them read.
struct PieceContents {
  std::set<TensorId> inputs;
  std::set<TensorId> statics;
  std::set<int> nodes;  ///< ascending: the graph's order is a topological one

  bool has_input(TensorId t) const { return inputs.count(t) > 0; }
  bool has_node(int node) const { return node >= 0 && nodes.count(node) > 0; }
};

/// @throws Error(kInvalidArgument) when the piece reads a tensor that is neither its input nor made
/// in it.
PieceContents piece_contents(const Graph& graph, const SubgraphSpec& spec);

/// Values of strings that only the Constant node itself can carry.
bool needs_constant_node(const Graph& graph, TensorId t);

/// Refuses a piece that makes no sense. @throws Error(kInvalidArgument).
[[noreturn]] void refuse_piece(const std::string& what, const std::string& fix);

}  // namespace bitsweep::graph
