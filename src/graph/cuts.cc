#include "graph/cuts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace bitsweep::graph {
namespace {

template <std::size_t N>
bool among(std::string_view op, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), op) != list.end();
}

constexpr std::array<std::string_view, 3> kNorms = {
    "LayerNormalization", "SimplifiedLayerNormalization", "RMSNormalization"};

bool is_product(std::string_view op) {
  constexpr std::array<std::string_view, 4> kOps = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
  return among(op, kOps);
}

bool is_activation(std::string_view op) {
  constexpr std::array<std::string_view, 13> kOps = {
      "Relu", "Clip", "LeakyRelu",   "PRelu",           "Sigmoid", "Tanh", "HardSwish",
      "Elu",  "Gelu", "HardSigmoid", "ThresholdedRelu", "Mish",    "Swish"};
  return among(op, kOps);
}

/// Operators that cost little beside the products around them: a cut may move across them to where
/// it is smallest.
bool is_cheap(std::string_view op) {
  static constexpr std::array<std::string_view, 42> kOps = {"Add",
                                                            "Sub",
                                                            "Mul",
                                                            "Div",
                                                            "Pow",
                                                            "Sqrt",
                                                            "Erf",
                                                            "Exp",
                                                            "Neg",
                                                            "Reciprocal",
                                                            "Abs",
                                                            "Softplus",
                                                            "Log",
                                                            "Min",
                                                            "Max",
                                                            "Where",
                                                            "ReduceMean",
                                                            "ReduceSum",
                                                            "ReduceMax",
                                                            "ReduceL2",
                                                            "Cast",
                                                            "Reshape",
                                                            "Transpose",
                                                            "Squeeze",
                                                            "Unsqueeze",
                                                            "Flatten",
                                                            "Identity",
                                                            "Dropout",
                                                            "BatchNormalization",
                                                            "InstanceNormalization",
                                                            "GroupNormalization",
                                                            "GlobalAveragePool",
                                                            "GlobalMaxPool",
                                                            "Expand",
                                                            "Concat",
                                                            "Slice",
                                                            "Split",
                                                            "Pad",
                                                            "Resize",
                                                            "DepthToSpace",
                                                            "SpaceToDepth",
                                                            "Shape"};
  return among(op, kOps) || is_activation(op) || among(op, kNorms);
}

/// Marks the edges (tensor, reader) that a cut must not cross.
class Glue {
 public:
  explicit Glue(const Graph& graph) : graph_(graph) {
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
      const auto node = static_cast<int>(i);
      if (graph.node(node).is_constant) continue;
      glue_to_products(node);
      glue_scaled_product(node);
      glue_attention(node);
      glue_gated(node);
      glue_gelu(node);
      glue_layer_norm(node);
    }
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) glue_sum_to_norm(static_cast<int>(i));
  }

  bool holds(TensorId tensor, int reader) const { return edges_.count({tensor, reader}) > 0; }

 private:
  const Node& node(int id) const { return graph_.node(id); }
  std::string_view op(int id) const { return id < 0 ? std::string_view() : node(id).op_type; }
  /// The node that makes the value; an Identity only hands it on, and the runtime removes it.
  int producer(TensorId t) const {
    const int from = t == kAbsent ? -1 : graph_.tensor(t).producer;
    return op(from) == "Identity" ? producer(node(from).inputs[0]) : from;
  }

  /// Nodes that read the value, those behind an Identity too, with the tensor that they read.
  std::vector<std::pair<TensorId, int>> readers(TensorId t) const {
    std::vector<std::pair<TensorId, int>> result;
    if (t == kAbsent) return result;
    for (const Use& use : graph_.tensor(t).uses) {
      if (op(use.node) != "Identity") {
        result.emplace_back(t, use.node);
        continue;
      }
      const auto behind = readers(node(use.node).outputs[0]);
      result.insert(result.end(), behind.begin(), behind.end());
    }
    return result;
  }

  /// Producers of the inputs that depend on the sample.
  std::vector<std::pair<TensorId, int>> sources(int id) const {
    std::vector<std::pair<TensorId, int>> result;
    for (const TensorId t : node(id).inputs) {
      const int from = producer(t);
      if (from >= 0 && !node(from).is_constant) result.emplace_back(t, from);
    }
    return result;
  }

  void glue(TensorId t, int reader) {
    edges_.emplace(t, reader);
    const int from = graph_.tensor(t).producer;
    if (op(from) == "Identity") glue(node(from).inputs[0], from);
  }

  void glue_to_products(int id) {
    const std::string_view type = op(id);
    const bool follows_sum = is_activation(type);
    const bool follows_product = follows_sum || type == "Add" || type == "BatchNormalization";
    if (!follows_product) return;
    for (const auto& [t, from] : sources(id)) {
      const std::string_view made_by = op(from);
      if (is_product(made_by) ||
          (follows_sum && (made_by == "Add" || made_by == "BatchNormalization")))
        glue(t, id);
      if (type == "Add" && made_by == "BatchNormalization") glue(t, id);
    }
  }

  /// A product of two activations takes in the transposition and the scaling by a number of its
  /// operands, and the scaling of its result.
  void glue_scaled_product(int id) {
    const auto multiplies = [&](int n) { return op(n) == "MatMul" && sources(n).size() == 2; };
    const auto scales = [&](int n) {
      return (op(n) == "Mul" || op(n) == "Div") && sources(n).size() == 1;
    };
    for (const auto& [t, from] : sources(id)) {
      const bool operand = multiplies(id) && (op(from) == "Transpose" || scales(from));
      const bool result = multiplies(from) && scales(id);
      const bool both = op(id) == "Transpose" && scales(from);
      if (operand || result || both) glue(t, id);
    }
  }

  /// From a Softmax up to the product that makes the scores, through scaling and masking, and on to
  /// the values.
  void glue_attention(int id) {
    if (op(id) != "Softmax") return;
    constexpr std::array<std::string_view, 7> kBetween = {"Mul", "Div",  "Add",    "Where",
                                                          "Sub", "Cast", "Reshape"};
    std::vector<std::pair<TensorId, int>> chain;  // edges from the Softmax upwards
    int at = id;
    for (int step = 0; step < 5 && !is_product(op(at)); ++step) {
      // The operand that leads to a product; masks come from elsewhere.
      std::pair<TensorId, int> next{kAbsent, -1};
      for (const auto& source : sources(at)) {
        if (is_product(op(source.second))) next = source;
      }
      for (const auto& source : sources(at)) {
        if (next.second < 0 && among(op(source.second), kBetween)) next = source;
      }
      if (next.second < 0) return;
      chain.emplace_back(next.first, at);
      at = next.second;
    }
    if (!is_product(op(at))) return;
    for (const auto& [t, reader] : chain) glue(t, reader);
    glue_forward(id, "MatMul", 3);
  }

  /// Glues the readers of a node's output down to one of type `last`, through casts, dropouts and
  /// reshapes.
  void glue_forward(int id, std::string_view last, int steps) {
    if (steps == 0) return;
    constexpr std::array<std::string_view, 3> kBetween = {"Cast", "Dropout", "Reshape"};
    for (const TensorId output : node(id).outputs) {
      for (const auto& [t, reader] : readers(output)) {
        if (op(reader) != last && !among(op(reader), kBetween)) continue;
        glue(t, reader);
        if (op(reader) != last) glue_forward(reader, last, steps - 1);
      }
    }
  }

  /// x * sigmoid(x) and its relatives: the product reads what the gate reads.
  void glue_gated(int id) {
    if (op(id) != "Mul") return;
    const auto inputs = sources(id);
    for (const auto& [gate, from] : inputs) {
      if (!is_activation(op(from))) continue;
      const int source = producer(node(from).inputs[0]);
      for (const auto& [x, made_by] : inputs) {
        if (made_by != source) continue;
        glue(gate, id);
        glue(x, id);
        if (is_product(op(source))) glue(node(from).inputs[0], from);
      }
    }
  }

  /// From Erf (or the Tanh of the approximation) down to the end of the GELU: plus one, times x,
  /// and times a half where that was not done before.
  void glue_gelu_tail(int id) {
    int at = id;
    for (const std::string_view wanted : {"Add", "Mul", "Mul"}) {
      const auto behind = readers(node(at).outputs[0]);
      if (behind.size() != 1 || op(behind[0].second) != wanted) return;
      const int next = behind[0].second;
      // Times x has two operands that depend on the sample, the others have a constant.
      const bool times_x = wanted == "Mul" && op(at) == "Add";
      if ((sources(next).size() == 1) == times_x) return;
      for (const auto& [t, from] : sources(next)) {
        if (from == at || op(from) == "Mul") glue(t, next);
      }
      at = next;
    }
  }

  /// A bias goes into the GELU behind it: from Erf (or the Tanh of the approximation) up through
  /// scaling.
  void glue_gelu(int id) {
    if (op(id) != "Erf" && op(id) != "Tanh") return;
    glue_gelu_tail(id);
    int at = id;
    for (int step = 0; step < 2; ++step) {
      const auto inputs = sources(at);
      if (inputs.size() != 1) return;
      const auto [t, from] = inputs[0];
      glue(t, at);
      if (op(from) != "Div" && op(from) != "Mul") return;
      at = from;
    }
  }

  void glue_layer_norm(int id) {
    if (op(id) != "Sqrt") return;
    // Upwards: Add of epsilon, mean, square, and for the full form the centring.
    std::vector<std::pair<TensorId, int>> chain;
    std::set<int> members{id};
    int at = id;
    for (const std::string_view wanted : {"Add", "ReduceMean", "Pow", "Sub", "ReduceMean"}) {
      const auto inputs = sources(at);
      if (inputs.empty()) break;
      // A Sub reads x and its mean: the mean is the one that is made by ReduceMean.
      auto next = inputs.front();
      for (const auto& source : inputs) {
        if (op(source.second) == wanted) next = source;
      }
      const bool squares = wanted == "Pow" && op(next.second) == "Mul";
      if (op(next.second) != wanted && !squares) break;
      chain.push_back({next.first, at});
      at = next.second;
      members.insert(at);
    }
    if (chain.size() < 3) return;
    for (const auto& [t, reader] : chain) glue(t, reader);
    // Downwards: the division, then scale and shift.
    glue_tail(id, 4, &members);
    norm_members_.insert(members.begin(), members.end());
    // Whatever joins two members (the centred value into the division) belongs inside.
    for (const int member : members) {
      for (const auto& [t, from] : sources(member)) {
        if (members.count(from) > 0) glue(t, member);
      }
    }
  }

  void glue_tail(int id, int steps, std::set<int>* members) {
    constexpr std::array<std::string_view, 4> kTail = {"Div", "Mul", "Add", "Reciprocal"};
    if (steps == 0 || node(id).outputs.empty()) return;
    const auto behind = readers(node(id).outputs[0]);
    if (behind.size() != 1 || !among(op(behind[0].second), kTail)) return;
    const auto [t, next] = behind[0];
    // Scale and shift have a constant operand; a sum of two activations is the next residual.
    const bool has_parameter = sources(next).size() == 1;
    if (steps < 4 && !has_parameter) return;
    glue(t, next);
    members->insert(next);
    glue_tail(next, steps - 1, members);
  }

  /// A residual sum that only a normalisation reads is computed together with it.
  void glue_sum_to_norm(int id) {
    if (op(id) != "Add" || node(id).outputs.empty() || norm_members_.count(id) > 0) return;
    const auto behind = readers(node(id).outputs[0]);
    const bool only_norm = !behind.empty() && std::ranges::all_of(behind, [&](const auto& edge) {
      return norm_members_.count(edge.second) > 0 || among(op(edge.second), kNorms);
    });
    if (!only_norm) return;
    for (const auto& [t, reader] : behind) glue(t, reader);
  }

  const Graph& graph_;
  std::set<std::pair<TensorId, int>> edges_;
  std::set<int> norm_members_;
};

/// Position of each node in the order, -1 for constant and dead nodes.
std::vector<int> positions(const Graph& graph, const std::vector<int>& order) {
  std::vector<int> at(graph.nodes().size(), -1);
  for (std::size_t p = 0; p < order.size(); ++p)
    at[static_cast<std::size_t>(order[p])] = static_cast<int>(p);
  return at;
}

std::int64_t bytes_of(const Graph& graph, const std::vector<TensorId>& live) {
  std::int64_t bytes = 0;
  for (const TensorId t : live) {
    const TensorInfo& tensor = graph.tensor(t);
    if (!tensor.shape || data_type_bits(tensor.type) == 0) return -1;
    bytes +=
        (num_elements(*tensor.shape) * static_cast<std::int64_t>(data_type_bits(tensor.type)) + 7) /
        8;
  }
  return bytes;
}

/// True when a cut before the node and one behind it stand for nearly the same work.
bool moves_across(const Graph& graph, int id) {
  // Arithmetic on shapes: integers, and few of them.
  constexpr std::int64_t kFew = 64;
  const Node& node = graph.node(id);
  return is_cheap(node.op_type) ||
         std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId t) {
           if (t == kAbsent) return true;
           const TensorInfo& tensor = graph.tensor(t);
           return (tensor.type == DataType::kInt64 || tensor.type == DataType::kInt32) &&
                  tensor.shape && num_elements(*tensor.shape) <= kFew;
         });
}

/// Leaves clean only the cuts with the fewest bytes (without shapes, those with the fewest
/// tensors), and the first one: what changes behind the expensive node in front of it need not run
/// that again.
void keep_useful(std::span<CutCandidate> cuts) {
  // Sizes, flags and other scalars that happen to cross don't count.
  constexpr std::int64_t kNegligible = 256;
  const bool sized =
      std::all_of(cuts.begin(), cuts.end(), [](const CutCandidate& c) { return c.bytes >= 0; });
  const auto size = [&](const CutCandidate& c) {
    return sized ? c.bytes : static_cast<std::int64_t>(c.live.size());
  };
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const CutCandidate& c : cuts) {
    if (c.clean) least = std::min(least, size(c));
  }
  const auto nearest =
      std::find_if(cuts.begin(), cuts.end(), [](const CutCandidate& c) { return c.clean; });
  for (auto c = cuts.begin(); c != cuts.end(); ++c) {
    if (c != nearest) c->clean = c->clean && size(*c) - least <= (sized ? kNegligible : 0);
  }
}

}  // namespace

std::vector<int> non_constant_nodes(const Graph& graph) {
  std::vector<int> order;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (!node.is_constant && !node.is_dead) order.push_back(static_cast<int>(i));
  }
  return order;
}

std::vector<CutCandidate> cut_candidates(const Graph& graph) {
  const std::vector<int> order = non_constant_nodes(graph);
  const std::vector<int> at = positions(graph, order);
  const Glue glue(graph);
  const auto end = static_cast<int>(order.size());
  std::vector<CutCandidate> cuts(order.size());
  std::vector<bool> crossed(order.size(), false);
  for (int p = 0; p < end; ++p) cuts[static_cast<std::size_t>(p)].position = p;
  for (std::size_t i = 0; i < graph.tensors().size(); ++i) {
    const TensorInfo& tensor = graph.tensors()[i];
    if (tensor.is_static) continue;
    const int made = tensor.producer < 0 ? -1 : at[static_cast<std::size_t>(tensor.producer)];
    if (tensor.producer >= 0 && made < 0) continue;  // constant or dead
    int last = tensor.is_output ? end - 1 : -1;
    for (const Use& use : tensor.uses)
      last = std::max(last, at[static_cast<std::size_t>(use.node)]);
    const auto t = static_cast<TensorId>(i);
    for (int p = made + 1; p <= last; ++p) cuts[static_cast<std::size_t>(p)].live.push_back(t);
    for (const Use& use : tensor.uses) {
      if (!glue.holds(t, use.node)) continue;
      for (int p = made + 1; p <= at[static_cast<std::size_t>(use.node)]; ++p)
        crossed[static_cast<std::size_t>(p)] = true;
    }
  }
  for (std::size_t p = 0; p < cuts.size(); ++p) {
    cuts[p].bytes = bytes_of(graph, cuts[p].live);
    cuts[p].clean = !crossed[p];
  }
  // Between two expensive nodes, only the smallest cuts stay: not inside a SiLU, where two tensors
  // cross, nor behind a normalisation whose input goes on as the residual.
  std::size_t first = 0;
  for (std::size_t p = 0; p < cuts.size(); ++p) {
    const bool last = p + 1 == cuts.size() || !moves_across(graph, order[p]);
    if (!last) continue;
    keep_useful(std::span(cuts).subspan(first, p + 1 - first));
    first = p + 1;
  }
  return cuts;
}

}  // namespace bitsweep::graph
