#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "graph/graph_data.h"
#include "graph/placement/draft.h"
#include "graph/placement/op_types.h"

namespace bitsweep::graph {
namespace {

bool may_be_floating(DataType type) {
  return type == DataType::kUndefined || type == DataType::kDouble || is_quantizable_type(type);
}

std::string inside(const Operator& op) {
  return fmt::format("inside {} nodes that are read as one {} (\"{}\")", op.nodes.size(), op.type,
                     op.name);
}

/// Only dead nodes make or read it.
bool is_dead(const Graph& graph, const TensorInfo& info) {
  if (info.producer >= 0 && graph.node(info.producer).is_dead) return true;
  return !info.is_output && !info.uses.empty() &&
         std::all_of(info.uses.begin(), info.uses.end(),
                     [&](const Use& use) { return graph.node(use.node).is_dead; });
}

/// Declared as something else than a tensor.
bool is_other_kind(const Graph& graph, TensorId id) {
  const onnx::TypeProto* type = graph.data().types[static_cast<std::size_t>(id)];
  return type != nullptr && type->value_case() != onnx::TypeProto::VALUE_NOT_SET &&
         !type->has_tensor_type();
}

std::string reason_of(const Draft& draft, TensorId id) {
  const TensorInfo& info = draft.graph().tensor(id);
  const OperatorGraph& operators = draft.operator_graph();
  if (info.type == DataType::kUndefined) {
    return is_other_kind(draft.graph(), id) ? "it is a sequence, a map or an optional value"
                                            : "its element type is not known";
  }
  if (!is_quantizable_type(info.type))
    return fmt::format("no quantizer for {} values", data_type_name(info.type));
  if (is_dead(draft.graph(), info)) return "no output of the model needs it";
  if (operators.inner_of[id] >= 0) return inside(draft.operators()[operators.inner_of[id]]);
  if (info.producer >= 0 && has_no_output_quantizer(draft.graph().node(info.producer).op_type)) {
    return draft.graph().node(info.producer).op_type +
           " moves data: its output keeps the grid of its input";
  }
  if (info.uses.empty()) return "nobody reads it";
  const Use& use = info.uses.front();
  const Node& reader = draft.graph().node(use.node);
  if (use.input < 0)
    return fmt::format("read only inside the body of {} \"{}\"", reader.op_type, reader.name);
  const Operator& op = draft.operators()[operators.operator_of_node[use.node]];
  if (op.nodes.size() > 1) return inside(op);
  return fmt::format("a setting of {} \"{}\", not data", reader.op_type, reader.name);
}

// Declared element types of a body's tensors; a tensor without an entry may have any.
std::map<std::string, DataType> declared_types(const onnx::GraphProto& body) {
  std::map<std::string, DataType> types;
  const auto add = [&](const auto& values) {
    for (const onnx::ValueInfoProto& value : values) {
      const int type = value.type().tensor_type().elem_type();
      if (type != 0) types[value.name()] = static_cast<DataType>(type);
    }
  };
  add(body.input());
  add(body.output());
  add(body.value_info());
  return types;
}

void list_body(const onnx::GraphProto& body, const std::string& reason,
               std::vector<SkippedTensor>& skipped) {
  const std::map<std::string, DataType> types = declared_types(body);
  for (const onnx::TensorProto& weight : body.initializer()) {
    if (may_be_floating(static_cast<DataType>(weight.data_type())))
      skipped.push_back({.name = weight.name(), .tensor = kAbsent, .reason = reason});
  }
  for (const onnx::NodeProto& node : body.node()) {
    for (const std::string& output : node.output()) {
      const auto type = types.find(output);
      if (output.empty() || (type != types.end() && !may_be_floating(type->second))) continue;
      skipped.push_back({.name = output, .tensor = kAbsent, .reason = reason});
    }
    for_each_body(node, [&](const onnx::GraphProto& inner) { list_body(inner, reason, skipped); });
  }
}

}  // namespace

std::vector<SkippedTensor> explain_skipped(const Draft& draft) {
  std::vector<SkippedTensor> skipped;
  const Graph& graph = draft.graph();
  for (TensorId id = 0; id < static_cast<TensorId>(graph.tensors().size()); ++id) {
    if (draft.site_of(id) >= 0 || !may_be_floating(graph.tensor(id).type)) continue;
    skipped.push_back(
        {.name = graph.tensor(id).name, .tensor = id, .reason = reason_of(draft, id)});
  }
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    for_each_body(*graph.data().nodes[i], [&](const onnx::GraphProto& body) {
      list_body(body,
                fmt::format("inside the body of {} \"{}\": bodies stay in float", node.op_type,
                            node.name),
                skipped);
    });
  }
  return skipped;
}

}  // namespace bitsweep::graph
