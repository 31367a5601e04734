#include "graph/opset/raise_opset.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bitsweep/error.h"
#include "graph/bodies/bodies.h"
#include "graph/opset/opset_steps.h"

namespace bitsweep::graph {
namespace {

class Raiser {
 public:
  Raiser(const onnx::ModelProto& model, std::int64_t from, std::int64_t to,
         const TensorFacts& facts)
      : from_(from), to_(to), facts_(facts) {
    names_.reserve(model.graph());
  }

  void run(onnx::GraphProto& graph) {
    google::protobuf::RepeatedPtrField<onnx::NodeProto> raised;
    for (onnx::NodeProto node : graph.node()) {
      for_each_body(&node, [&](onnx::GraphProto* body) { run(*body); });
      OpsetStepContext context{.graph = graph, .names = names_, .facts = facts_, .target = to_};
      if (node.domain().empty() || node.domain() == "ai.onnx") rewrite(node, context);
      for (onnx::NodeProto& added : context.before) *raised.Add() = std::move(added);
      *raised.Add() = std::move(node);
      for (onnx::NodeProto& added : context.after) *raised.Add() = std::move(added);
    }
    graph.mutable_node()->Swap(&raised);
  }

 private:
  void rewrite(onnx::NodeProto& node, OpsetStepContext& context) const {
    for (const OpsetStep& step : opset_steps()) {
      if (from_ < step.since && step.since <= to_ && node.op_type() == step.type)
        step.rewrite(node, context);
    }
  }

  std::int64_t from_;
  std::int64_t to_;
  const TensorFacts& facts_;
  UniqueNames names_;
};

// Smallest IR version that knows an operator set; from 4 on constants need not be graph inputs.
// Source: table of versions of ONNX.
std::int64_t ir_version_of(std::int64_t opset) {
  return opset >= 25   ? 13
         : opset >= 24 ? 12
         : opset >= 23 ? 11
         : opset >= 21 ? 10
         : opset >= 19 ? 9
         : opset >= 15 ? 8
         : opset >= 12 ? 7
         : opset >= 11 ? 6
         : opset >= 10 ? 5
                       : 4;
}

}  // namespace

void raise_opset(onnx::ModelProto& model, std::int64_t target, const TensorFacts& facts) {
  for (onnx::OperatorSetIdProto& import : *model.mutable_opset_import()) {
    if (!import.domain().empty() && import.domain() != "ai.onnx") continue;
    const std::int64_t from = import.version();
    if (from < target) {
      if (from < kOldestOpset || target > kNewestOpset) {
        throw Error(ErrorCode::kInvalidModel, "export",
                    fmt::format("the model has opset {} and its quantizers need opset {}, but only "
                                "{} to {} can be converted",
                                from, target, kOldestOpset, kNewestOpset),
                    "convert the model with onnx.version_converter first");
      }
      Raiser(model, from, target, facts).run(*model.mutable_graph());
      import.set_version(target);
    }
    model.set_ir_version(
        std::max<std::int64_t>(model.ir_version(), ir_version_of(import.version())));
    return;
  }
}

}  // namespace bitsweep::graph
