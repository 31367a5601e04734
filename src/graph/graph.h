#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bitsweep/model.h"
#include "bitsweep/tensor.h"

namespace bitsweep::graph {

/// Index of a tensor in Graph::tensors(); kAbsent for an optional input that is not there.
using TensorId = int;
inline constexpr TensorId kAbsent = -1;

/// A node attribute without protobuf. Tensor attributes of Constant nodes are reached through
/// Graph::static_value.
struct Attribute {
  enum class Kind { kOther, kInt, kFloat, kString, kInts, kFloats, kStrings, kGraph };
  Kind kind = Kind::kOther;
  std::int64_t i = 0;
  float f = 0.0F;
  std::string s;
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string> strings;
};

struct Node {
  std::string name;  ///< unique; missing or duplicate names are "/<OpType>", "/<OpType>_1", ...
  std::string op_type;
  std::string domain;             ///< "" for ai.onnx
  std::vector<TensorId> inputs;   ///< kAbsent where optional and not given
  std::vector<TensorId> outputs;  ///< kAbsent where optional and not given
  /// Tensors of this graph that bodies (If, Loop, Scan) read; not part of `inputs`.
  std::vector<TensorId> captured;
  std::map<std::string, Attribute, std::less<>> attributes;
  bool has_subgraph = false;
  /// All inputs are static or come from such nodes, and no graph output is made: the value never
  /// depends on the sample.
  bool is_constant = false;
  bool is_dead = false;  ///< no graph output needs it

  std::int64_t int_attribute(std::string_view name, std::int64_t fallback) const;
};

struct Use {
  int node = -1;
  int input = -1;  ///< position in Node::inputs; -1 for a captured tensor
};

struct TensorInfo {
  std::string name;
  int producer = -1;  ///< node, or -1 for graph inputs and initializers
  std::vector<Use> uses;
  bool is_input = false;                 ///< must be fed
  bool is_output = false;                ///< graph output
  bool is_static = false;                ///< initializer or output of a Constant node
  DataType type = DataType::kUndefined;  ///< of statics and declared values; the rest by set_type
  std::optional<Shape> shape;            ///< of statics; observed shapes by set_shape
  /// What the runtime infers without a sample, by set_inferred_shape: a size, or -1 and perhaps a
  /// name.
  std::optional<std::vector<Dimension>> inferred_shape;
};

/// A read-only index over a model's top graph, nodes in topological order (the file's order where
/// that is one).
///
/// Constant nodes are nodes (is_constant) whose outputs are static tensors. Functions of the model
/// are inlined first.
class Graph {
 public:
  /// @throws Error(kInvalidModel): a cycle, a tensor with two producers, an input nobody produces.
  explicit Graph(Model model);

  const Model& model() const { return model_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const TensorInfo& tensor(TensorId id) const { return tensors_[static_cast<std::size_t>(id)]; }
  const Node& node(int id) const { return nodes_[static_cast<std::size_t>(id)]; }

  /// kAbsent when there is no such tensor.
  TensorId find(std::string_view name) const;
  /// -1 when there is no such node.
  int find_node(std::string_view name) const;

  const std::vector<TensorId>& inputs() const {
    return inputs_;
  }  ///< file order, without initializers
  const std::vector<TensorId>& outputs() const { return outputs_; }  ///< file order

  /// Value of a static tensor; a view into the model (no copy where the file's layout allows).
  /// Undefined otherwise.
  Tensor static_value(TensorId id) const;

  /// Types and shapes found by running or loading the model.
  void set_type(TensorId id, DataType type) { tensors_[static_cast<std::size_t>(id)].type = type; }
  void set_shape(TensorId id, Shape shape) {
    tensors_[static_cast<std::size_t>(id)].shape = std::move(shape);
  }
  void set_inferred_shape(TensorId id, std::vector<Dimension> shape) {
    tensors_[static_cast<std::size_t>(id)].inferred_shape = std::move(shape);
  }

  struct Data;  // protobuf stays in src/graph
  const Data& data() const { return *data_; }

 private:
  friend class GraphBuilder;

  Model model_;
  std::vector<Node> nodes_;
  std::vector<TensorInfo> tensors_;
  std::vector<TensorId> inputs_;
  std::vector<TensorId> outputs_;
  std::map<std::string, TensorId, std::less<>> by_name_;
  std::map<std::string, int, std::less<>> node_by_name_;
  std::shared_ptr<const Data> data_;
};

}  // namespace bitsweep::graph
