#pragma once

#include <vector>

#include "bitsweep/model.h"
#include "bitsweep/tensor.h"
#include "graph/graph.h"

namespace bitsweep::graph {

/// A QuantizeLinear and DequantizeLinear pair behind a tensor, or a DequantizeLinear behind stored
/// codes.
struct QdqSite {
  TensorId tensor = kAbsent;
  Tensor scale;       ///< float; a scalar, [channels], or the grid of blocks; undefined: `value` is
                      ///< replaced, no nodes
  Tensor zero_point;  ///< its type is that of the codes; shape of `scale`
  int axis = -1;      ///< channel axis, or with blocks theirs; -1: per tensor
  int block_size = 0;
  Tensor value;  ///< of a static tensor: replaces the stored value; undefined: unchanged
  Tensor codes;  ///< of a static tensor: stored instead of the value, so that only DequantizeLinear
                 ///< is needed
};

/// The model with the pairs. All tensors keep their names: a pair's output has the name of its
/// tensor, what was there gets another one; readers of a graph input are redirected. Functions are
/// inlined, nodes sorted and named uniquely.
/// @throws Error(kInvalidModel) when `opset` is above the model's and an operator changes its
/// meaning in between.
Model insert_qdq(const Graph& graph, const std::vector<QdqSite>& sites, std::int64_t opset);

}  // namespace bitsweep::graph
