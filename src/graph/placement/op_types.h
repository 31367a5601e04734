#pragma once

#include <span>
#include <string_view>

#include "graph/graph.h"

namespace bitsweep::graph {

/// Operators whose output holds values of the first input only, perhaps with padding zeros: the
/// grid of the input fits the output, so a second quantizer would do nothing.
bool moves_data(std::string_view op_type);

/// Data movement whose output never gets a quantizer of its own (the others have one, off by
/// default).
bool has_no_output_quantizer(std::string_view op_type);

/// Outputs that mix values of several inputs on one grid: Concat, ScatterND, ...
bool joins_inputs(std::string_view op_type);

/// Outputs that stay in the range of their input and may keep its grid: Relu, AveragePool, Resize,
/// ...
bool keeps_range(std::string_view op_type);

/// RNN, LSTM, GRU.
bool is_recurrent(std::string_view op_type);

/// Conv, ConvTranspose, Gemm, MatMul: the second input is a weight, static or not.
bool multiplies_by_weight(std::string_view op_type);

bool is_normalization(std::string_view op_type);

/// A data-moving node, or a Cast between floating-point types.
bool passes_values_through(const Graph& graph, const Node& node);

/// A parameter input of an operator type.
struct ParameterInput {
  int input = 0;
  std::string_view kind;  ///< "weight", "bias", ...
};

/// Parameter inputs of an operator type; empty for types without parameters.
std::span<const ParameterInput> parameter_inputs(std::string_view op_type);

}  // namespace bitsweep::graph
