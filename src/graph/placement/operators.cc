#include "graph/placement/operators.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "graph/placement/fusions/fusion.h"
#include "graph/placement/op_types.h"

namespace bitsweep::graph {
namespace {

// Axes of an operator's parameter as the operator sees it, before transposes on the way to it.
ParameterAxes axes_of_parameter(const Graph& graph, const Operator& op, std::string_view kind,
                                std::size_t rank) {
  if (rank == 1) return {.channel = 0};
  const int last = static_cast<int>(rank) - 1;
  if (rank < 2 || kind != "weight") return {};
  if (op.type == "Conv") return {.channel = 0, .block = 1};
  if (op.type == "ConvTranspose") return {.channel = 1, .block = 0};
  if (op.type == "MatMul") return {.channel = last, .block = last - 1};
  if (op.type != "Gemm") return {};
  const bool transposed =
      op.nodes.size() == 1 && graph.node(op.nodes[0]).int_attribute("transB", 0) != 0;
  return transposed ? ParameterAxes{.channel = 0, .block = 1}
                    : ParameterAxes{.channel = 1, .block = 0};
}

// Fills the operator's parameters and returns their axes.
std::vector<ParameterAxes> attach_parameters(const Graph& graph, Operator& op) {
  std::vector<ParameterAxes> axes;
  // Nothing runs a dead node, so what it reads needs no quantizer as a parameter.
  if (graph.node(op.nodes.back()).is_dead) return axes;
  for (const ParameterInput& slot : parameter_inputs(op.type)) {
    if (static_cast<std::size_t>(slot.input) >= op.inputs.size()) continue;
    const ParameterSource source = parameter_source(graph, op.inputs[slot.input]);
    if (source.tensor == kAbsent) continue;
    op.parameters.emplace_back(source.tensor, std::string(slot.kind));
    ParameterAxes found = axes_of_parameter(graph, op, slot.kind, source.axis_of.size());
    if (found.channel >= 0) found.channel = source.axis_of[found.channel];
    if (found.block >= 0) found.block = source.axis_of[found.block];
    axes.push_back(found);
  }
  return axes;
}

Operator operator_of(const Node& node, int id) {
  return {.name = node.name,
          .type = node.op_type,
          .nodes = {id},
          .inputs = node.inputs,
          .outputs = node.outputs,
          .parameters = {},
          .added_bias = kAbsent};
}

Operator operator_of(const Graph& graph, const Fusion& fusion) {
  // A name of its own: the nodes keep theirs, and a reader sees which ones are meant.
  std::string name =
      graph.node(fusion.nodes.front()).name + "+" + graph.node(fusion.nodes.back()).name;
  while (graph.find_node(name) >= 0) name += "_";
  return {.name = std::move(name),
          .type = fusion.type,
          .nodes = fusion.nodes,
          .inputs = fusion.inputs,
          .outputs = fusion.outputs,
          .parameters = {},
          .added_bias = kAbsent};
}

// Finders in the order in which they may take nodes: a LayerNormalization holds an
// RMSNormalization.
constexpr std::pair<FusionPass, std::vector<Fusion> (*)(const Graph&)> kFinders[] = {
    {FusionPass::kLayerNormalization, find_layer_normalization},
    {FusionPass::kRmsNormalization, find_rms_normalization},
    {FusionPass::kMatmulAdd, find_matmul_add},
    {FusionPass::kMaskedSoftmax, find_masked_softmax},
};

// Index of the fusion that each node belongs to; a node goes to the first fusion that wants it.
std::vector<int> assign_nodes(const Graph& graph, const std::vector<FusionPass>& passes,
                              std::vector<Fusion>& accepted) {
  std::vector<int> fusion_of_node(graph.nodes().size(), -1);
  for (const auto& [pass, find] : kFinders) {
    if (std::find(passes.begin(), passes.end(), pass) == passes.end()) continue;
    for (Fusion& fusion : find(graph)) {
      const bool free = std::all_of(fusion.nodes.begin(), fusion.nodes.end(),
                                    [&](int node) { return fusion_of_node[node] < 0; });
      if (!free) continue;
      for (const int node : fusion.nodes) fusion_of_node[node] = static_cast<int>(accepted.size());
      accepted.push_back(std::move(fusion));
    }
  }
  return fusion_of_node;
}

bool regroups_axes(const Node& node) {
  return node.op_type == "Reshape" || node.op_type == "Squeeze" || node.op_type == "Unsqueeze" ||
         node.op_type == "Flatten";
}

std::optional<Shape> inferred_sizes(const Graph& graph, TensorId tensor) {
  const auto& inferred = graph.tensor(tensor).inferred_shape;
  if (!inferred) return std::nullopt;
  Shape sizes;
  for (const Dimension& dimension : *inferred) {
    if (dimension.size < 0) return std::nullopt;
    sizes.push_back(dimension.size);
  }
  return sizes;
}

// Nodes that exporters put between a weight and its operator: the values stay, the axes may move.
bool hands_weights_on(const Graph& graph, const Node& node) {
  if (!node.domain.empty()) return false;
  if (node.op_type == "Identity" || node.op_type == "Transpose") return true;
  if (node.op_type == "Cast") {
    return is_quantizable_type(graph.tensor(node.inputs[0]).type) &&
           is_quantizable_type(graph.tensor(node.outputs[0]).type);
  }
  return regroups_axes(node) && node.is_constant && inferred_sizes(graph, node.outputs[0]);
}

void transpose(const Node& node, Shape& shape, std::vector<int>& axis_of) {
  const auto found = node.attributes.find("perm");
  const Shape old_shape = shape;
  const std::vector<int> old_axes = axis_of;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::size_t from = found == node.attributes.end()
                                 ? shape.size() - 1 - axis  // reverses by default
                                 : static_cast<std::size_t>(found->second.ints[axis]);
    shape[axis] = old_shape[from];
    axis_of[axis] = old_axes[from];
  }
}

// An axis stays what it was when its size and the number of elements in front of it stay.
void reshape(const Shape& to, Shape& shape, std::vector<int>& axis_of) {
  std::map<std::pair<std::int64_t, std::int64_t>, int> old_axes;
  std::int64_t before = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    old_axes[{before, shape[axis]}] = axis_of[axis];
    before *= shape[axis];
  }
  axis_of.assign(to.size(), -1);
  before = 1;
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    const auto same = old_axes.find({before, to[axis]});
    if (same != old_axes.end()) axis_of[axis] = same->second;
    before *= to[axis];
  }
  shape = to;
}

// The operator that hides a constant which only members of fused operators read, such as the
// epsilon of a norm, or -1.
int operator_that_hides(const OperatorGraph& graph, const TensorInfo& constant, TensorId id) {
  int hides = -1;
  for (const Use& use : constant.uses) {
    hides = graph.operator_of_node[use.node];
    if (hides < 0) return -1;
    const Operator& op = graph.operators[hides];
    const bool is_input = std::find(op.inputs.begin(), op.inputs.end(), id) != op.inputs.end();
    if (op.nodes.size() == 1 || is_input) return -1;
  }
  return hides;
}

}  // namespace

ParameterSource parameter_source(const Graph& graph, TensorId input) {
  std::vector<int> chain;  // from the operator up to the tensor
  while (input != kAbsent && !graph.tensor(input).is_static) {
    const int producer = graph.tensor(input).producer;
    if (producer < 0 || !hands_weights_on(graph, graph.node(producer))) return {};
    chain.push_back(producer);
    input = graph.node(producer).inputs[0];
  }
  if (input == kAbsent || !is_quantizable_type(graph.tensor(input).type)) return {};

  ParameterSource source{.tensor = input, .axis_of = {}};
  Shape shape = graph.tensor(input).shape.value();
  source.axis_of.resize(shape.size());
  std::iota(source.axis_of.begin(), source.axis_of.end(), 0);
  for (auto id = chain.rbegin(); id != chain.rend(); ++id) {
    const Node& node = graph.node(*id);
    if (node.op_type == "Transpose") {
      transpose(node, shape, source.axis_of);
    } else if (regroups_axes(node)) {
      reshape(inferred_sizes(graph, node.outputs[0]).value(), shape, source.axis_of);
    }
  }
  return source;
}

OperatorGraph build_operators(const Graph& graph, const std::vector<FusionPass>& passes) {
  std::vector<Fusion> fusions;
  const std::vector<int> fusion_of_node = assign_nodes(graph, passes, fusions);
  OperatorGraph result;
  result.operator_of_node.assign(graph.nodes().size(), -1);
  result.inner_of.assign(graph.tensors().size(), -1);
  for (int id = 0; id < static_cast<int>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (node.op_type == "Constant") continue;
    const int fusion = fusion_of_node[id];
    // A fused operator stands where its last node stands: there all its inputs are known.
    if (fusion >= 0 && fusions[fusion].nodes.back() != id) continue;
    Operator op = fusion < 0 ? operator_of(node, id) : operator_of(graph, fusions[fusion]);
    const int index = static_cast<int>(result.operators.size());
    for (const int member : op.nodes) {
      result.operator_of_node[member] = index;
      for (const TensorId output : graph.node(member).outputs) {
        if (output != kAbsent) result.inner_of[output] = index;
      }
    }
    for (const TensorId output : op.outputs) {
      if (output != kAbsent) result.inner_of[output] = -1;
    }
    result.axes.push_back(attach_parameters(graph, op));
    result.operators.push_back(std::move(op));
  }
  if (std::find(passes.begin(), passes.end(), FusionPass::kMatmulAdd) != passes.end()) {
    for (const LooseMatmulAdd& pair : find_loose_matmul_add(graph))
      result.operators[result.operator_of_node[pair.matmul]].added_bias = pair.bias;
  }
  for (TensorId t = 0; t < static_cast<TensorId>(graph.tensors().size()); ++t) {
    const TensorInfo& info = graph.tensor(t);
    if (info.is_static && !info.is_output)
      result.inner_of[t] = operator_that_hides(result, info, t);
  }
  return result;
}

}  // namespace bitsweep::graph
