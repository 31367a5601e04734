#include "graph/placement/fusions/fusion.h"

namespace bitsweep::graph {
namespace {

struct ProductPlusVector {
  int matmul = -1;
  int add = -1;
  TensorId bias = kAbsent;
};

// Every Add of a MatMul with static weights (nobody else reads the product) and a static vector.
std::vector<ProductPlusVector> products_plus_vectors(const Graph& graph) {
  std::vector<ProductPlusVector> found;
  for (int id = 0; id < static_cast<int>(graph.nodes().size()); ++id) {
    const Node& add = graph.node(id);
    if (add.op_type != "Add" || add.inputs.size() != 2) continue;
    for (const int side : {0, 1}) {
      const int matmul = producer_of_type(graph, add.inputs[side], "MatMul");
      const TensorId bias = add.inputs[1 - side];
      if (matmul < 0 || graph.tensor(add.inputs[side]).uses.size() != 1) continue;
      if (parameter_source(graph, graph.node(matmul).inputs[1]).tensor == kAbsent) continue;
      if (parameter_source(graph, bias).axis_of.size() != 1) continue;
      found.push_back({.matmul = matmul, .add = id, .bias = bias});
      break;
    }
  }
  return found;
}

bool is_gemm(const Graph& graph, const ProductPlusVector& found) {
  const Node& matmul = graph.node(found.matmul);
  return is_private(graph, matmul.outputs[0]) &&
         parameter_source(graph, matmul.inputs[1]).axis_of.size() == 2;
}

}  // namespace

std::vector<Fusion> find_matmul_add(const Graph& graph) {
  std::vector<Fusion> fusions;
  for (const ProductPlusVector& found : products_plus_vectors(graph)) {
    const Node& matmul = graph.node(found.matmul);
    if (!is_gemm(graph, found)) continue;
    fusions.push_back({.type = "Gemm",
                       .nodes = {found.matmul, found.add},
                       .inputs = {matmul.inputs[0], matmul.inputs[1], found.bias},
                       .outputs = {graph.node(found.add).outputs[0]}});
  }
  return fusions;
}

std::vector<LooseMatmulAdd> find_loose_matmul_add(const Graph& graph) {
  std::vector<LooseMatmulAdd> loose;
  for (const ProductPlusVector& found : products_plus_vectors(graph)) {
    if (is_gemm(graph, found) || graph.tensor(found.bias).uses.size() != 1) continue;
    loose.push_back({.matmul = found.matmul, .add = found.add, .bias = found.bias});
  }
  return loose;
}

}  // namespace bitsweep::graph
