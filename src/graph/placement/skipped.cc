#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "graph/graph_data.h"
#include "graph/placement/body_tensors.h"
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

}  // namespace

std::vector<SkippedTensor> explain_skipped(const Draft& draft) {
  std::vector<SkippedTensor> skipped;
  const Graph& graph = draft.graph();
  for (TensorId id = 0; id < static_cast<TensorId>(graph.tensors().size()); ++id) {
    if (draft.site_of(id) >= 0 || !may_be_floating(graph.tensor(id).type)) continue;
    skipped.push_back(
        {.name = graph.tensor(id).name, .tensor = id, .reason = reason_of(draft, id)});
  }
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const Node& node = graph.node(i);
    for (BodyTensor& inside : body_tensors(graph, i)) {
      if (!may_be_floating(inside.type)) continue;
      skipped.push_back({.name = std::move(inside.name),
                         .tensor = kAbsent,
                         .reason = fmt::format("inside the body of {} \"{}\": bodies stay in float",
                                               node.op_type, node.name)});
    }
  }
  return skipped;
}

}  // namespace bitsweep::graph
