#include "graph/macs.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

namespace bitsweep::graph {
namespace {

// Fitted to ONNX Runtime 1.32's profiler on eight trained networks, one core with AVX2, float32:
// dense products ran at 40 to 54 G multiply-accumulates a second, depthwise convolutions about four
// times slower, recurrent layers at 8 (their steps wait for each other). Activations mostly sit in
// the cache, weights come from memory once a run.
constexpr double kNsPerMac = 1.0 / 50.0;
constexpr double kDepthwiseFactor = 4.0;
constexpr double kRecurrentFactor = 6.0;
constexpr double kNsPerActivationByte = 1.0 / 30.0;
constexpr double kNsPerWeightByte = 1.0 / 20.0;
constexpr double kNsPerNode = 2000.0;

const Shape* shape_of(const Graph& graph, const Node& node, std::size_t input) {
  if (input >= node.inputs.size() || node.inputs[input] == kAbsent) return nullptr;
  const TensorInfo& tensor = graph.tensor(node.inputs[input]);
  return tensor.shape ? &*tensor.shape : nullptr;
}

const Shape* output_shape(const Graph& graph, const Node& node) {
  if (node.outputs.empty() || node.outputs[0] == kAbsent) return nullptr;
  const TensorInfo& tensor = graph.tensor(node.outputs[0]);
  return tensor.shape ? &*tensor.shape : nullptr;
}

bool is_recurrent(const std::string& op) { return op == "RNN" || op == "GRU" || op == "LSTM"; }

std::int64_t conv_macs(const Graph& graph, const Node& node, bool transposed) {
  const Shape* weight = shape_of(graph, node, 1);
  const Shape* side = transposed ? shape_of(graph, node, 0) : output_shape(graph, node);
  if (weight == nullptr || side == nullptr || weight->empty() || (*weight)[0] == 0) return 0;
  return num_elements(*side) * (num_elements(*weight) / (*weight)[0]);
}

std::int64_t matmul_macs(const Graph& graph, const Node& node, const char* transpose_a) {
  const Shape* a = shape_of(graph, node, 0);
  const Shape* y = output_shape(graph, node);
  if (a == nullptr || y == nullptr || a->empty()) return 0;
  const bool transposed = a->size() > 1 && node.int_attribute(transpose_a, 0) != 0;
  return num_elements(*y) * (transposed ? (*a)[a->size() - 2] : a->back());
}

std::int64_t recurrent_macs(const Graph& graph, const Node& node) {
  const Shape* x = shape_of(graph, node, 0);
  const Shape* w = shape_of(graph, node, 1);
  const Shape* r = shape_of(graph, node, 2);
  if (x == nullptr || w == nullptr || r == nullptr || x->size() != 3) return 0;
  return (*x)[0] * (*x)[1] * (num_elements(*w) + num_elements(*r));
}

/// Every index of the equation is one loop, so the product of their sizes counts the innermost
/// body.
std::int64_t einsum_macs(const Graph& graph, const Node& node) {
  const auto found = node.attributes.find("equation");
  if (found == node.attributes.end() || node.inputs.size() < 2) return 0;
  std::string equation = found->second.s;
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  equation = equation.substr(0, equation.find("->"));
  std::map<char, std::int64_t> sizes;
  Shape batch;  // sizes behind "...", right-aligned
  std::size_t start = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Shape* shape = shape_of(graph, node, i);
    if (shape == nullptr || start > equation.size()) return 0;
    const std::size_t end = std::min(equation.find(',', start), equation.size());
    const std::string term = equation.substr(start, end - start);
    start = end + 1;
    const std::size_t dots = term.find("...");
    const std::size_t labels = dots == std::string::npos ? term.size() : term.size() - 3;
    if (labels > shape->size() || (dots == std::string::npos && labels != shape->size())) return 0;
    const std::size_t hidden = shape->size() - labels;
    std::size_t axis = 0;
    for (std::size_t k = 0; k < term.size(); ++k) {
      if (k == dots) {
        Shape here(shape->begin() + static_cast<std::ptrdiff_t>(axis),
                   shape->begin() + static_cast<std::ptrdiff_t>(axis + hidden));
        if (here.size() < batch.size()) here.insert(here.begin(), batch.size() - here.size(), 1);
        if (batch.size() < here.size()) batch.insert(batch.begin(), here.size() - batch.size(), 1);
        for (std::size_t d = 0; d < batch.size(); ++d) batch[d] = std::max(batch[d], here[d]);
        axis += hidden;
        k += 2;
        continue;
      }
      std::int64_t& size = sizes[term[k]];
      size = std::max(size, (*shape)[axis]);
      ++axis;
    }
  }
  std::int64_t count = num_elements(batch);
  for (const auto& [label, size] : sizes) count *= size;
  return count;
}

/// Query [.., L, D] times key [.., S, D], then the weights times value [.., S, V].
/// Three-dimensional inputs hold all heads side by side, which gives the same products.
std::int64_t attention_macs(const Graph& graph, const Node& node) {
  const Shape* q = shape_of(graph, node, 0);
  const Shape* k = shape_of(graph, node, 1);
  const Shape* y = output_shape(graph, node);
  if (q == nullptr || k == nullptr || y == nullptr || k->size() < 3) return 0;
  const std::int64_t keys = (*k)[k->size() - 2];
  return keys * (num_elements(*q) + num_elements(*y));
}

double mac_factor(const Graph& graph, const Node& node) {
  if (is_recurrent(node.op_type)) return kRecurrentFactor;
  const Shape* weight = shape_of(graph, node, 1);
  const bool depthwise = node.int_attribute("group", 1) > 1 && weight != nullptr &&
                         weight->size() > 1 && (*weight)[1] == 1;
  return depthwise ? kDepthwiseFactor : 1.0;
}

double move_cost(const Graph& graph, TensorId t) {
  if (t == kAbsent) return 0;
  const TensorInfo& tensor = graph.tensor(t);
  if (!tensor.shape) return 0;
  // Types that are not known yet are mostly float32.
  const std::size_t bits = tensor.type == DataType::kUndefined ? 32 : data_type_bits(tensor.type);
  const double bytes =
      static_cast<double>(num_elements(*tensor.shape)) * static_cast<double>(bits) / 8;
  return bytes * (tensor.is_static ? kNsPerWeightByte : kNsPerActivationByte);
}

/// Operators that only relabel their input.
bool is_view(const std::string& op_type) {
  static constexpr std::array kViews = {"Reshape",  "Flatten", "Squeeze", "Unsqueeze",
                                        "Identity", "Shape",   "Size"};
  return std::find(kViews.begin(), kViews.end(), op_type) != kViews.end();
}

}  // namespace

std::int64_t macs_of(const Graph& graph, int node_id) {
  const Node& node = graph.node(node_id);
  if (node.is_constant) return 0;
  const std::string& op = node.op_type;
  if (op == "Conv" || op == "FusedConv" || op == "DeformConv") return conv_macs(graph, node, false);
  if (op == "ConvTranspose") return conv_macs(graph, node, true);
  if (op == "Gemm" || op == "FusedMatMul" || op == "FusedGemm")
    return matmul_macs(graph, node, "transA");
  if (op == "MatMul") return matmul_macs(graph, node, "");
  if (is_recurrent(op)) return recurrent_macs(graph, node);
  if (op == "Einsum") return einsum_macs(graph, node);
  if (op == "Attention" && node.domain.empty()) return attention_macs(graph, node);
  return 0;
}

double cost_of(const Graph& graph, int node_id) {
  const Node& node = graph.node(node_id);
  if (node.is_constant) return 0;
  if (is_view(node.op_type)) return kNsPerNode;
  double moved = 0;
  // Of an embedding table only the rows that come out are read.
  const std::size_t first = node.op_type == "Gather" ? 1 : 0;
  for (std::size_t i = first; i < node.inputs.size(); ++i)
    moved += move_cost(graph, node.inputs[i]);
  for (const TensorId t : node.outputs) moved += move_cost(graph, t);
  return kNsPerNode + moved +
         kNsPerMac * mac_factor(graph, node) * static_cast<double>(macs_of(graph, node_id));
}

}  // namespace bitsweep::graph
