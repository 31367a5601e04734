#pragma once

#include <vector>

#include "graph/graph.h"

namespace bitsweep::simulate {

/// The nodes that a sample runs through (graph::non_constant_nodes) and what lies where: positions
/// are indices into nodes().
///
/// A cut at position p separates nodes [0, p) from [p, size()). Its live tensors are those that
/// nodes at or after p, or the caller, still need of what exists before p. Live at 0: graph inputs
/// in use; live at size(): the graph outputs.
class NodeOrder {
 public:
  explicit NodeOrder(const graph::Graph& graph);

  int size() const { return static_cast<int>(nodes_.size()); }
  const std::vector<int>& nodes() const { return nodes_; }
  /// Position of a node; -1 for constant nodes and those that no output needs.
  int position(int node) const { return position_[static_cast<std::size_t>(node)]; }

  /// Position of the node that makes the tensor; -1 for graph inputs, statics, constants and dead
  /// tensors.
  int produced_at(graph::TensorId t) const { return produced_[static_cast<std::size_t>(t)]; }
  /// First and last position that reads the tensor, directly or through constant nodes; -1 when
  /// nobody does.
  int first_read(graph::TensorId t) const { return first_read_[static_cast<std::size_t>(t)]; }
  int last_read(graph::TensorId t) const { return last_read_[static_cast<std::size_t>(t)]; }
  /// Its value depends on the sample: a graph input or the output of a non-constant node.
  bool is_dynamic(graph::TensorId t) const { return dynamic_[static_cast<std::size_t>(t)]; }

  /// Live tensors of the cut at `position`, ascending ids.
  std::vector<graph::TensorId> live(int position) const;

  /// For each tensor, whether its value depends on one of the sources (themselves included).
  std::vector<char> affected_by(const std::vector<graph::TensorId>& sources) const;

  /// Dynamic tensors that nodes [begin, end) read (captured ones included) and do not make
  /// themselves, ascending ids.
  std::vector<graph::TensorId> inputs_of(int begin, int end) const;

 private:
  const graph::Graph* graph_;
  std::vector<int> nodes_;
  std::vector<int> position_;
  std::vector<int> produced_;
  std::vector<int> first_read_;
  std::vector<int> last_read_;
  std::vector<char> dynamic_;
};

}  // namespace bitsweep::simulate
