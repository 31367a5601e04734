#include "simulate/parts/suffix.h"

#include <algorithm>
#include <set>

#include "simulate/network/tensor_values.h"

namespace bitsweep::simulate {

using graph::TensorId;

Suffix make_suffix(const Network& network, const Shapes& shapes, int cut,
                   const std::vector<TensorId>& changed) {
  const graph::Graph& graph = network.graph();
  const NodeOrder& order = network.order();
  Suffix suffix{.begin = cut, .changed = changed};
  const std::vector<char> affected =
      changed.empty() ? std::vector<char>(graph.tensors().size(), 1) : order.affected_by(changed);
  const auto is_affected = [&](TensorId t) {
    return t != graph::kAbsent && affected[static_cast<std::size_t>(t)] != 0;
  };
  std::set<TensorId> inputs;
  std::set<TensorId> made;
  for (int p = cut; p < order.size(); ++p) {
    const graph::Node& node = graph.node(order.nodes()[static_cast<std::size_t>(p)]);
    if (!std::any_of(node.outputs.begin(), node.outputs.end(), is_affected)) continue;
    suffix.nodes.push_back(order.nodes()[static_cast<std::size_t>(p)]);
    suffix.cost += shapes.cost(p, p + 1);
    const auto need = [&](TensorId t) {
      if (t != graph::kAbsent && order.is_dynamic(t) && made.count(t) == 0) inputs.insert(t);
    };
    std::for_each(node.inputs.begin(), node.inputs.end(), need);
    std::for_each(node.captured.begin(), node.captured.end(), need);
    made.insert(node.outputs.begin(), node.outputs.end());
  }
  suffix.inputs.assign(inputs.begin(), inputs.end());
  for (const TensorId t : distinct_outputs(graph)) {
    if (made.count(t) > 0) suffix.outputs.push_back(t);
  }
  return suffix;
}

}  // namespace bitsweep::simulate
