#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bitsweep/tensor.h"
#include "graph/bodies/bodies.h"
#include "graph/graph.h"
#include "onnx-ml.pb.h"

namespace bitsweep::graph {

/// What is known of a tensor of the model; null for one that is not known.
using TensorFacts = std::function<const TensorInfo*(const std::string& name)>;

/// Value of a constant tensor; undefined for another one.
using Constants = std::function<Tensor(const std::string& name)>;

/// What a rewrite of one node may use and add.
struct OpsetStepContext {
  onnx::GraphProto& graph;  ///< whose node it is: new constants go there
  UniqueNames& names;
  const TensorFacts& facts;
  std::int64_t target;
  std::vector<onnx::NodeProto> before{};  ///< new nodes in front of the node and behind it
  std::vector<onnx::NodeProto> after{};
};

/// How nodes of a type are rewritten when a model comes to an operator set that says them in
/// another way.
struct OpsetStep {
  std::int64_t since;  ///< first operator set with the new form
  std::string_view type;
  /// @throws Error(kInvalidModel) when the new form can't say the node.
  void (*rewrite)(onnx::NodeProto& node, OpsetStepContext& context);
  /// Puts a node that was rewritten back into the old form; false, and nothing done, when that
  /// can't say it. Null: there is no way back.
  bool (*undo)(onnx::NodeProto& node, const Constants& constants) = nullptr;
};

/// Oldest operator set whose steps are known, and newest.
inline constexpr std::int64_t kOldestOpset = 7;
inline constexpr std::int64_t kNewestOpset = 25;  // from 22 on operators got types, no new meaning

/// All steps between the two, ascending by operator set. Source: operator changelog of ONNX.
std::span<const OpsetStep> opset_steps();

}  // namespace bitsweep::graph
