#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bitsweep/model.h"
#include "graph/bodies/bodies.h"
#include "graph/file/model_impl.h"
#include "onnx-ml.pb.h"

namespace bitsweep::graph {

/// A private copy of a model whose main graph can be rewired; finish() makes a Model of it.
///
/// Weights are shared with the model given until they are written.
class ModelEdit {
 public:
  explicit ModelEdit(const Model& model);

  struct Use {
    int node = -1;
    int input = -1;  ///< position among the inputs; -1 when a body of the node reads the tensor
  };

  int num_nodes() const { return graph().node_size(); }
  const onnx::NodeProto& node(int i) const { return graph().node(i); }
  onnx::NodeProto* mutable_node(int i) { return graph_->mutable_node(i); }
  /// Name of a node; of its first output when it has none.
  std::string label(int i) const;
  /// Operator of the standard domain.
  bool is(int i, std::string_view op_type) const;
  bool removed(int i) const { return removed_[static_cast<std::size_t>(i)]; }

  const std::vector<Use>& uses(const std::string& tensor) const;
  /// -1 for graph inputs and initializers.
  int producer(const std::string& tensor) const;
  bool is_output(const std::string& tensor) const { return outputs_.count(tensor) > 0; }
  /// The one node that reads the tensor as an input, when nobody else sees it; -1 otherwise.
  int only_reader(const std::string& tensor) const;

  /// In the order of the file.
  std::vector<std::string> initializer_names() const;
  /// Message of an initializer or of a Constant node's value; null when the tensor is not such a
  /// one.
  onnx::TensorProto* static_message(const std::string& tensor);
  std::vector<double> read(const onnx::TensorProto& message) const;
  std::vector<std::int64_t> read_integers(const onnx::TensorProto& message) const;
  /// Rounds the values to the element type that the message has.
  void write(onnx::TensorProto* message, const Shape& shape, const std::vector<double>& values);

  /// Adds an initializer of a float type; returns its name.
  std::string add_initializer(const std::string& wish, std::int32_t data_type, const Shape& shape,
                              const std::vector<double>& values);
  /// A copy under another name; the bytes are shared.
  std::string copy_initializer(const std::string& name, const std::string& wish);

  void set_input(int node, int input, const std::string& tensor);
  /// Leaves an optional input out.
  void clear_input(int node, int input);
  void remove_node(int node);
  /// Lets all readers of `from`, bodies and graph outputs included, take the only output of `node`
  /// instead.
  void redirect(const std::string& from, int node);

  /// Number of dimensions as far as declarations and operators tell.
  std::optional<int> rank(const std::string& tensor) const;
  /// Declared type, or null.
  const onnx::TypeProto::Tensor* declared(const std::string& tensor) const;
  /// The declared shape of a tensor is not true any more.
  void forget_declaration(const std::string& tensor);

  /// Drops removed nodes and what only they used. The object is spent.
  Model finish();

 private:
  const onnx::GraphProto& graph() const { return *graph_; }
  void register_initializer(onnx::TensorProto* added);
  void drop_use(const std::string& tensor, int node, int input);
  std::optional<int> rank(const std::string& tensor, int depth) const;
  void drop_unused();
  void compact_storage();

  std::shared_ptr<Model::Impl> impl_;
  onnx::GraphProto* graph_;
  std::vector<bool> removed_;
  std::unordered_map<std::string, std::vector<Use>> uses_;
  std::unordered_map<std::string, int> producers_;
  std::unordered_map<std::string, onnx::TensorProto*> initializers_;
  std::unordered_map<std::string, const onnx::TypeProto*> types_;
  std::unordered_set<std::string> outputs_;
  std::unordered_set<std::string> lost_reader_;  ///< tensors that a rewrite took a reader from
  UniqueNames names_;
};

}  // namespace bitsweep::graph
