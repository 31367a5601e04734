#include "simulate/network/tensor_values.h"

#include <algorithm>

namespace bitsweep::simulate {

using graph::TensorId;

std::string shapes_text(const Feed& feed) {
  std::string text;
  for (const auto& [name, tensor] : feed) text += shape_text(tensor.shape());
  return text;
}

bool can_be_handed_on(const graph::Graph& graph, const std::vector<TensorId>& tensors) {
  return std::ranges::none_of(tensors, [&](TensorId t) {
    const DataType type = graph.tensor(t).type;
    return type == DataType::kUndefined || type == DataType::kString;
  });
}

TensorValues values_of(const graph::Graph& graph, const Feed& feed) {
  TensorValues values;
  for (const TensorId t : graph.inputs()) {
    const auto it = feed.find(graph.tensor(t).name);
    if (it != feed.end()) values.emplace(t, it->second);
  }
  return values;
}

std::vector<Tensor> in_output_order(const graph::Graph& graph, const TensorValues& values,
                                    const std::vector<Tensor>& fallback) {
  std::vector<Tensor> outputs;
  outputs.reserve(graph.outputs().size());
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const auto it = values.find(graph.outputs()[i]);
    outputs.push_back(it != values.end() ? it->second : fallback[i]);
  }
  return outputs;
}

std::vector<TensorId> distinct_outputs(const graph::Graph& graph) {
  std::vector<TensorId> outputs;
  for (const TensorId t : graph.outputs()) {
    if (std::find(outputs.begin(), outputs.end(), t) == outputs.end()) outputs.push_back(t);
  }
  return outputs;
}

}  // namespace bitsweep::simulate
