#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/bodies/bodies.h"
#include "onnx-ml.pb.h"

namespace bitsweep::graph {

/// Replaces calls of a model's own functions by their bodies, nested calls and calls inside of If,
/// Loop, Scan included.
///
/// A function that needs another version of an operator set than the model imports can't be inlined
/// by copying; it stays a call, and the model must keep carrying it.
class FunctionInliner {
 public:
  /// `names` must know all names of the graph.
  FunctionInliner(const onnx::ModelProto& model, UniqueNames* names);

  /// True when the node, or a node in one of its bodies, is a call to inline.
  bool applies_to(const onnx::NodeProto& node) const;

  /// The nodes that stand for `node`. @throws Error(kInvalidModel) when functions call each other
  /// in a circle.
  std::vector<onnx::NodeProto> expand(const onnx::NodeProto& node);

  /// Operator sets of the model, and those that inlined functions added.
  const std::map<std::string, std::int64_t>& imports() const { return imports_; }

  /// Functions whose calls were replaced, as "domain::name".
  const std::set<std::string>& inlined() const { return inlined_; }

  /// Functions that stay calls.
  const std::vector<const onnx::FunctionProto*>& kept() const { return kept_; }

 private:
  const onnx::FunctionProto* find(const onnx::NodeProto& node) const;
  void expand_into(onnx::NodeProto node, std::vector<onnx::NodeProto>* out);
  void expand_call(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                   std::vector<onnx::NodeProto>* out);

  UniqueNames* names_;
  std::map<std::string, const onnx::FunctionProto*> functions_;
  std::map<std::string, std::int64_t> imports_;
  std::set<std::string> inlined_;
  std::vector<const onnx::FunctionProto*> kept_;
  std::vector<std::string> calling_;  ///< functions whose bodies are being copied, outermost first
};

}  // namespace bitsweep::graph
