#pragma once

#include <type_traits>

#include "onnx-ml.pb.h"

namespace bitsweep::graph {

// Every TensorProto inside a message, in file order. The message may be const; the visitor gets
// references alike. Fields of a mutable message are reached through its mutable_ accessors, which
// exist only there.

#define BITSWEEP_FIELD(message, name)                                      \
  [](auto& m) -> auto& {                                                   \
    if constexpr (std::is_const_v<std::remove_reference_t<decltype(m)>>) { \
      return m.name();                                                     \
    } else {                                                               \
      return *m.mutable_##name();                                          \
    }                                                                      \
  }(message)

template <typename Graph, typename Visit>
void walk_graph_tensors(Graph& graph, Visit&& visit);

template <typename Sparse, typename Visit>
void walk_sparse_tensors(Sparse& sparse, Visit&& visit) {
  visit(BITSWEEP_FIELD(sparse, values));
  visit(BITSWEEP_FIELD(sparse, indices));
}

template <typename Attribute, typename Visit>
void walk_attribute_tensors(Attribute& attribute, Visit&& visit) {
  if (attribute.has_t()) visit(BITSWEEP_FIELD(attribute, t));
  for (auto& tensor : BITSWEEP_FIELD(attribute, tensors)) visit(tensor);
  if (attribute.has_sparse_tensor())
    walk_sparse_tensors(BITSWEEP_FIELD(attribute, sparse_tensor), visit);
  for (auto& sparse : BITSWEEP_FIELD(attribute, sparse_tensors)) walk_sparse_tensors(sparse, visit);
  if (attribute.has_g()) walk_graph_tensors(BITSWEEP_FIELD(attribute, g), visit);
  for (auto& graph : BITSWEEP_FIELD(attribute, graphs)) walk_graph_tensors(graph, visit);
}

template <typename Node, typename Visit>
void walk_node_tensors(Node& node, Visit&& visit) {
  for (auto& attribute : BITSWEEP_FIELD(node, attribute)) walk_attribute_tensors(attribute, visit);
}

template <typename Graph, typename Visit>
void walk_graph_tensors(Graph& graph, Visit&& visit) {
  for (auto& tensor : BITSWEEP_FIELD(graph, initializer)) visit(tensor);
  for (auto& sparse : BITSWEEP_FIELD(graph, sparse_initializer)) walk_sparse_tensors(sparse, visit);
  for (auto& node : BITSWEEP_FIELD(graph, node)) walk_node_tensors(node, visit);
}

template <typename Model, typename Visit>
void walk_tensors(Model& model, Visit&& visit) {
  if (model.has_graph()) walk_graph_tensors(BITSWEEP_FIELD(model, graph), visit);
  for (auto& function : BITSWEEP_FIELD(model, functions)) {
    for (auto& attribute : BITSWEEP_FIELD(function, attribute_proto))
      walk_attribute_tensors(attribute, visit);
    for (auto& node : BITSWEEP_FIELD(function, node)) walk_node_tensors(node, visit);
  }
  for (auto& training : BITSWEEP_FIELD(model, training_info)) {
    if (training.has_initialization())
      walk_graph_tensors(BITSWEEP_FIELD(training, initialization), visit);
    if (training.has_algorithm()) walk_graph_tensors(BITSWEEP_FIELD(training, algorithm), visit);
  }
}

#undef BITSWEEP_FIELD

}  // namespace bitsweep::graph
