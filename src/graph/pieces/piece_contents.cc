#include "graph/pieces/piece_contents.h"

#include <fmt/format.h>

#include <vector>

#include "bitsweep/error.h"
#include "graph/graph_data.h"

namespace bitsweep::graph {

PieceContents piece_contents(const Graph& graph, const SubgraphSpec& spec) {
  PieceContents contents;
  contents.inputs.insert(spec.inputs.begin(), spec.inputs.end());
  const std::set<int> asked(spec.nodes.begin(), spec.nodes.end());
  std::vector<int> open;
  const auto take = [&](int node) {
    if (contents.nodes.insert(node).second) open.push_back(node);
  };
  for (const int node : asked) {
    if (!graph.node(node).is_dead) take(node);
  }
  const auto need = [&](TensorId t, const auto& reader) {
    if (t == kAbsent || contents.has_input(t)) return;
    const TensorInfo& tensor = graph.tensor(t);
    if (tensor.is_static && !needs_constant_node(graph, t)) {
      contents.statics.insert(t);
      return;
    }
    if (contents.has_node(tensor.producer)) return;
    if (tensor.producer < 0 ||
        (!graph.node(tensor.producer).is_constant && asked.count(tensor.producer) == 0)) {
      refuse_piece(
          fmt::format("a piece needs tensor \"{}\" for {} but neither makes it nor has it as input",
                      tensor.name, reader()),
          "list the tensor as an input of the piece");
    }
    take(tensor.producer);
  };
  for (const TensorId t : spec.outputs) {
    need(t, [] { return std::string("its outputs"); });
  }
  while (!open.empty()) {
    const Node& node = graph.node(open.back());
    open.pop_back();
    const auto reader = [&] { return fmt::format("node \"{}\"", node.name); };
    for (const TensorId t : node.inputs) need(t, reader);
    for (const TensorId t : node.captured) need(t, reader);
  }
  return contents;
}

bool needs_constant_node(const Graph& graph, TensorId t) {
  return graph.tensor(t).type == DataType::kString &&
         graph.data().statics[static_cast<std::size_t>(t)].proto == nullptr;
}

void refuse_piece(const std::string& what, const std::string& fix) {
  throw Error(ErrorCode::kInvalidArgument, "graph", what, fix);
}

}  // namespace bitsweep::graph
