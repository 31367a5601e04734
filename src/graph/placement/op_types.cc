#include "graph/placement/op_types.h"

#include <algorithm>
#include <array>

namespace bitsweep::graph {
namespace {

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& types, std::string_view type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

constexpr std::array<std::string_view, 28> kMovesData = {
    "BatchToSpace", "Col2Im",    "Compress",        "DepthToSpace",   "Dropout",
    "Expand",       "Flatten",   "Gather",          "GatherElements", "GatherND",
    "Identity",     "MaxPool",   "MaxRoiPool",      "NonZero",        "Pad",
    "ReduceMax",    "ReduceMin", "Reshape",         "Slice",          "SpaceToBatch",
    "SpaceToDepth", "Split",     "SplitToSequence", "Squeeze",        "Tile",
    "TopK",         "Transpose", "Unsqueeze",
};

constexpr std::array<std::string_view, 11> kNoOutputQuantizer = {
    "Compress", "Flatten", "Gather", "Identity",  "Reshape",   "Shape",
    "Split",    "Squeeze", "Tile",   "Transpose", "Unsqueeze",
};

constexpr std::array<std::string_view, 4> kJoinsInputs = {"Concat", "Scatter", "ScatterElements",
                                                          "ScatterND"};
constexpr std::array<std::string_view, 5> kKeepsRange = {"AveragePool", "CropAndResize", "Relu",
                                                         "Resize", "Upsample"};
constexpr std::array<std::string_view, 3> kRecurrent = {"GRU", "LSTM", "RNN"};
constexpr std::array<std::string_view, 4> kMultiplies = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
constexpr std::array<std::string_view, 5> kNormalizations = {
    "BatchNormalization", "GroupNormalization", "InstanceNormalization",
    "LayerNormalization", "RMSNormalization",
};

constexpr std::array<ParameterInput, 2> kWeightAndBias = {{{1, "weight"}, {2, "bias"}}};
constexpr std::array<ParameterInput, 1> kWeight = {{{1, "weight"}}};
constexpr std::array<ParameterInput, 4> kBatchNorm = {
    {{1, "weight"}, {2, "bias"}, {3, "running_mean"}, {4, "running_var"}}};
constexpr std::array<ParameterInput, 3> kRecurrentWeights = {
    {{1, "weight"}, {2, "weight_r"}, {3, "bias"}}};

bool is_floating(DataType type) { return is_quantizable_type(type) || type == DataType::kDouble; }

}  // namespace

bool moves_data(std::string_view op_type) { return contains(kMovesData, op_type); }
bool has_no_output_quantizer(std::string_view op_type) {
  return contains(kNoOutputQuantizer, op_type);
}
bool joins_inputs(std::string_view op_type) { return contains(kJoinsInputs, op_type); }
bool keeps_range(std::string_view op_type) { return contains(kKeepsRange, op_type); }
bool is_recurrent(std::string_view op_type) { return contains(kRecurrent, op_type); }
bool multiplies_by_weight(std::string_view op_type) { return contains(kMultiplies, op_type); }
bool is_normalization(std::string_view op_type) { return contains(kNormalizations, op_type); }

bool passes_values_through(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.inputs[0] == kAbsent || node.outputs.empty() ||
      node.outputs[0] == kAbsent) {
    return false;
  }
  if (moves_data(node.op_type)) return true;
  return node.op_type == "Cast" && is_floating(graph.tensor(node.inputs[0]).type) &&
         is_floating(graph.tensor(node.outputs[0]).type);
}

std::span<const ParameterInput> parameter_inputs(std::string_view op_type) {
  if (op_type == "Conv" || op_type == "ConvTranspose" || op_type == "Gemm") return kWeightAndBias;
  if (op_type == "MatMul" || op_type == "RMSNormalization") return kWeight;
  if (op_type == "BatchNormalization") return kBatchNorm;
  if (is_normalization(op_type)) return kWeightAndBias;
  if (is_recurrent(op_type)) return kRecurrentWeights;
  return {};
}

}  // namespace bitsweep::graph
