#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace bitsweep::graph {

/// A place where the graph can be split: everything before it is the prefix, the rest the suffix.
struct CutCandidate {
  int position = 0;  ///< the cut lies before non_constant_nodes(graph)[position]
  /// Tensors that the suffix needs from the prefix: made before the cut, or graph inputs, and read
  /// behind it; and graph outputs made before the cut. Constants are not among them. Ascending.
  std::vector<TensorId> live;
  std::int64_t bytes =
      0;  ///< of the live tensors by their observed shapes; -1 when one is not known
  /// Not between operators that the runtime runs as one: a product, sum or normalisation and its
  /// activation, bias or residual; the parts of a layer normalisation, of a GELU or SiLU; scores,
  /// softmax and values of an attention. And of the cuts around it that have only cheap operators
  /// between them, the smallest or the first.
  bool clean = false;
};

/// Nodes whose value depends on the sample and that some graph output needs, in the graph's order.
std::vector<int> non_constant_nodes(const Graph& graph);

/// One candidate for each position of non_constant_nodes, the first one before everything.
std::vector<CutCandidate> cut_candidates(const Graph& graph);

}  // namespace bitsweep::graph
