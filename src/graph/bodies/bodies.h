#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "onnx-ml.pb.h"

namespace bitsweep::graph {

/// Calls visit(GraphProto) for each body that the node carries directly (If, Loop, Scan and the
/// like).
template <typename Visit>
void for_each_body(const onnx::NodeProto& node, Visit&& visit) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) visit(attribute.g());
    for (const onnx::GraphProto& graph : attribute.graphs()) visit(graph);
  }
}

template <typename Visit>
void for_each_body(onnx::NodeProto* node, Visit&& visit) {
  for (onnx::AttributeProto& attribute : *node->mutable_attribute()) {
    if (attribute.has_g()) visit(attribute.mutable_g());
    for (onnx::GraphProto& graph : *attribute.mutable_graphs()) visit(&graph);
  }
}

/// Tensors that the bodies of a node read from the graph around it, each once, in order of first
/// use.
std::vector<std::string> captured_names(const onnx::NodeProto& node);

/// Renames what the bodies of a node read from outside; names that a body defines itself are left
/// alone.
void rename_captured(onnx::NodeProto* node, const std::map<std::string, std::string>& names);

/// Adds the name of every tensor and node of a graph and of its bodies.
void collect_names(const onnx::GraphProto& graph, std::unordered_set<std::string>* names);

/// Renames every tensor that a node mentions, those of its bodies included. Empty names (absent
/// inputs) stay.
void rename_tensors(onnx::NodeProto* node,
                    const std::function<std::string(const std::string&)>& rename);

/// Hands out names that no tensor or node of a graph has.
class UniqueNames {
 public:
  void reserve(const onnx::GraphProto& graph) { collect_names(graph, &taken_); }
  /// `wish` itself, or with "_1", "_2", ... behind it.
  std::string make(const std::string& wish);
  bool taken(const std::string& name) const { return taken_.count(name) > 0; }

 private:
  std::unordered_set<std::string> taken_;
  std::map<std::string, int> next_;
};

}  // namespace bitsweep::graph
