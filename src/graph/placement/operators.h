#pragma once

#include <utility>
#include <vector>

#include "graph/placement.h"
#include "graph/placement/rules_file.h"

namespace bitsweep::graph {

/// A static tensor that is an operator's parameter.
struct ParameterSource {
  TensorId tensor = kAbsent;
  /// For each axis of the operator's input, the axis of `tensor` that holds it, or -1: what turns
  /// and regroups axes on the way is followed.
  std::vector<int> axis_of;
};

/// The static tensor behind an operator's input, looking through Identity, Transpose, casts between
/// floating-point types, and Reshape and the like where the shape is known; tensor kAbsent if none.
ParameterSource parameter_source(const Graph& graph, TensorId input);

/// Axes that per-channel and blockwise quantization of a parameter use; -1: none.
struct ParameterAxes {
  int channel = -1;
  int block = -1;
};

/// The graph as the rules see it: operators, some of them several nodes read as one.
struct OperatorGraph {
  std::vector<Operator> operators;               ///< topological order, Constant nodes left out
  std::vector<std::vector<ParameterAxes>> axes;  ///< by operator, in the order of its `parameters`
  std::vector<int> operator_of_node;             ///< -1 for Constant nodes
  std::vector<int> inner_of;  ///< by tensor: the fused operator it is hidden in, or -1
};

/// @param passes patterns to read as one operator.
OperatorGraph build_operators(const Graph& graph, const std::vector<FusionPass>& passes);

}  // namespace bitsweep::graph
