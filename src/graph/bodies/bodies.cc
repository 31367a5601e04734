#include "graph/bodies/bodies.h"

namespace bitsweep::graph {
namespace {

using Names = std::unordered_set<std::string>;

/// Tensors that a body defines: its inputs, its initializers, the outputs of its nodes.
Names defined_names(const onnx::GraphProto& body) {
  Names names;
  for (const onnx::ValueInfoProto& input : body.input()) names.insert(input.name());
  for (const onnx::TensorProto& t : body.initializer()) names.insert(t.name());
  for (const onnx::SparseTensorProto& t : body.sparse_initializer())
    names.insert(t.values().name());
  for (const onnx::NodeProto& node : body.node())
    names.insert(node.output().begin(), node.output().end());
  return names;
}

void find_captured(const onnx::GraphProto& body, Names* seen, std::vector<std::string>* found) {
  const Names own = defined_names(body);
  const auto read = [&](const std::string& name) {
    if (!name.empty() && own.count(name) == 0 && seen->insert(name).second) found->push_back(name);
  };
  for (const onnx::NodeProto& node : body.node()) {
    for (const std::string& input : node.input()) read(input);
    for (const std::string& name : captured_names(node)) read(name);
  }
  for (const onnx::ValueInfoProto& output : body.output()) read(output.name());
}

void rename_in_body(onnx::GraphProto* body, std::map<std::string, std::string> names) {
  for (const std::string& own : defined_names(*body)) names.erase(own);
  if (names.empty()) return;
  const auto rename = [&](std::string* name) {
    if (const auto found = names.find(*name); found != names.end()) *name = found->second;
  };
  for (onnx::NodeProto& node : *body->mutable_node()) {
    for (std::string& input : *node.mutable_input()) rename(&input);
    rename_captured(&node, names);
  }
  for (onnx::ValueInfoProto& output : *body->mutable_output()) rename(output.mutable_name());
}

}  // namespace

std::vector<std::string> captured_names(const onnx::NodeProto& node) {
  Names seen;
  std::vector<std::string> found;
  for_each_body(node, [&](const onnx::GraphProto& body) { find_captured(body, &seen, &found); });
  return found;
}

void rename_captured(onnx::NodeProto* node, const std::map<std::string, std::string>& names) {
  for_each_body(node, [&](onnx::GraphProto* body) { rename_in_body(body, names); });
}

void collect_names(const onnx::GraphProto& graph, Names* names) {
  for (const onnx::ValueInfoProto& value : graph.input()) names->insert(value.name());
  for (const onnx::ValueInfoProto& value : graph.output()) names->insert(value.name());
  for (const onnx::ValueInfoProto& value : graph.value_info()) names->insert(value.name());
  for (const onnx::TensorProto& t : graph.initializer()) names->insert(t.name());
  for (const onnx::SparseTensorProto& t : graph.sparse_initializer())
    names->insert(t.values().name());
  for (const onnx::NodeProto& node : graph.node()) {
    names->insert(node.name());
    names->insert(node.input().begin(), node.input().end());
    names->insert(node.output().begin(), node.output().end());
    for_each_body(node, [&](const onnx::GraphProto& body) { collect_names(body, names); });
  }
}

void rename_tensors(onnx::NodeProto* node,
                    const std::function<std::string(const std::string&)>& rename) {
  const auto apply = [&](std::string* name) {
    if (!name->empty()) *name = rename(*name);
  };
  for (std::string& input : *node->mutable_input()) apply(&input);
  for (std::string& output : *node->mutable_output()) apply(&output);
  for_each_body(node, [&](onnx::GraphProto* body) {
    for (onnx::ValueInfoProto& value : *body->mutable_input()) apply(value.mutable_name());
    for (onnx::ValueInfoProto& value : *body->mutable_output()) apply(value.mutable_name());
    for (onnx::ValueInfoProto& value : *body->mutable_value_info()) apply(value.mutable_name());
    for (onnx::TensorProto& t : *body->mutable_initializer()) apply(t.mutable_name());
    for (onnx::SparseTensorProto& t : *body->mutable_sparse_initializer())
      apply(t.mutable_values()->mutable_name());
    for (onnx::NodeProto& inner : *body->mutable_node()) rename_tensors(&inner, rename);
  });
}

std::string UniqueNames::make(const std::string& wish) {
  if (taken_.insert(wish).second) return wish;
  int& next = next_[wish];
  while (true) {
    std::string name = wish + "_" + std::to_string(++next);
    if (taken_.insert(name).second) return name;
  }
}

}  // namespace bitsweep::graph
