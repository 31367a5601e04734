#pragma once

#include <functional>
#include <vector>

#include "bitsweep/model.h"
#include "bitsweep/tensor.h"
#include "graph/graph.h"

namespace bitsweep::graph {

/// A constant that is computed when it is written.
struct ComputedTensor {
  DataType type = DataType::kUndefined;
  Shape shape;
  std::function<Tensor()> make;  ///< keeps alive what it needs; the same each time

  bool defined() const { return static_cast<bool>(make); }
};

/// A QuantizeLinear and DequantizeLinear pair behind a tensor, or a DequantizeLinear behind stored
/// codes. For formats without a scale: a Cast and one back. Half tensors have both: casts around
/// the pair.
struct QdqSite {
  TensorId tensor = kAbsent;
  /// Types of a tensor that is cast there and back, around the pair when there is one; kUndefined:
  /// no casts.
  DataType cast_to = DataType::kUndefined;
  DataType cast_back = DataType::kUndefined;
  Tensor scale;       ///< float; a scalar, [channels], or the grid of blocks; undefined: `value` is
                      ///< replaced, or the tensor is cast
  Tensor zero_point;  ///< its type is that of the codes; shape of `scale`
  int axis = -1;      ///< channel axis, or with blocks theirs; -1: per tensor
  int block_size = 0;
  /// LPBQ: whole numbers in the shape that `scale` would have. `scale` then holds one float for
  /// each index on `scale_axis`, and their product, made by a DequantizeLinear, is the scale.
  Tensor scale_multiples;
  Tensor scale_zero_point;  ///< zeros of the type of scale_multiples, in the shape of `scale`
  int scale_axis = -1;
  /// The same floats as they were simulated, in double, where that gives other products in float32;
  /// noted in the metadata, so that reading back finds the very steps. Else empty.
  std::vector<double> exact_scale{};
  /// Ends of a grid that has fewer codes than their type: the value is clipped first, unless it is
  /// static.
  Tensor low;
  Tensor high;
  /// Codes of a constant for these nodes alone; empty: for every reader.
  std::vector<int> readers{};
  ComputedTensor value;  ///< of a static tensor: replaces the stored value; undefined: unchanged
  ComputedTensor codes;  ///< of a static tensor: stored instead of the value, so that only
                         ///< DequantizeLinear is needed
};

/// The model with the pairs. All tensors keep their names: a pair's output has the name of its
/// tensor, what was there gets another one; readers of a graph input are redirected. Functions are
/// inlined, nodes sorted and named uniquely.
/// @throws Error(kInvalidModel) when `opset` is above the model's and an operator changes its
/// meaning in between.
Model insert_qdq(const Graph& graph, const std::vector<QdqSite>& sites, std::int64_t opset);

}  // namespace bitsweep::graph
