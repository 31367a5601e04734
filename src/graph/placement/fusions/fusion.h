#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/placement/operators.h"

namespace bitsweep::graph {

/// Nodes that the rules read as one operator of type `type`; only `outputs` are visible outside.
struct Fusion {
  std::string type;
  std::vector<int> nodes;  ///< ascending
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
};

/// MatMul(x, W) + b with a static matrix W and a static vector b: a Gemm.
std::vector<Fusion> find_matmul_add(const Graph& graph);

/// MatMul and Add that the target runs as one but that are no Gemm, e.g. a batch of weight
/// matrices.
struct LooseMatmulAdd {
  int matmul = -1;  ///< node
  int add = -1;     ///< node
  TensorId bias = kAbsent;
};
std::vector<LooseMatmulAdd> find_loose_matmul_add(const Graph& graph);

/// (x - mean) / sqrt(variance + eps) * weight [+ bias] written as ReduceMean, Sub, Pow or Mul, ...
std::vector<Fusion> find_layer_normalization(const Graph& graph);

/// x / sqrt(mean(x^2) + eps) [* weight].
std::vector<Fusion> find_rms_normalization(const Graph& graph);

/// Softmax(Where(mask, x, min(x) + c)) with c so low that what is masked gets no weight.
std::vector<Fusion> find_masked_softmax(const Graph& graph);

/// True when the tensor is read once, by a node, and is no graph output: it can vanish inside an
/// operator.
bool is_private(const Graph& graph, TensorId tensor);

/// The only reader of a private tensor when it has this type, or -1.
int private_reader(const Graph& graph, TensorId tensor, std::string_view op_type);

/// The node that makes `tensor` when it has this type, or -1.
int producer_of_type(const Graph& graph, TensorId tensor, std::string_view op_type);

/// The operand of a two-input node that is not `tensor`; kAbsent when both or none is.
TensorId other_operand(const Node& node, TensorId tensor);

/// Value of a static floating-point tensor with one element.
std::optional<double> static_scalar(const Graph& graph, TensorId tensor);

/// True when a Reduce node (axes as attribute or as input) reduces the last axis only and keeps it.
bool reduces_last_axis(const Graph& graph, const Node& reduce);

}  // namespace bitsweep::graph
