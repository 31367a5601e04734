#include "graph/raise_opset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "bitsweep/error.h"
#include "graph/bodies.h"

namespace bitsweep::graph {
namespace {

// From here on the operators of ai.onnx keep their meaning up to 21 but for those below. Source:
// operator changelog of ONNX.
constexpr std::int64_t kFirstConvertible = 11;
constexpr std::int64_t kNewest = 21;

struct Break {
  std::string_view type;
  std::int64_t since;  ///< first version with the new meaning
};
constexpr std::array<Break, 5> kBreaks = {
    {{"GroupNormalization", 21}, {"DFT", 20}, {"RoiAlign", 16}, {"Upsample", 10}, {"Scatter", 11}}};

constexpr std::array<std::string_view, 9> kReductions = {
    "ReduceL1",   "ReduceL2",  "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
    "ReduceMean", "ReduceMin", "ReduceProd",   "ReduceSumSquare"};
constexpr std::int64_t kAxesAreInputs = 18;
// Squeeze, Unsqueeze, ReduceSum and Split moved earlier than the other reductions.
constexpr std::int64_t kFirstAxesAreInputs = 13;
// From here on Softmax works along one axis; before it took all axes from that one on as one.
constexpr std::int64_t kSoftmaxAlongAxis = 13;
constexpr std::int64_t kDropoutRatioIsInput = 12;
constexpr std::int64_t kSplitCounts = 18;
constexpr std::int64_t kNewModeNames = 20;

class Raiser {
 public:
  Raiser(onnx::ModelProto& model, std::int64_t from, std::int64_t to)
      : model_(model), from_(from), to_(to) {
    names_.reserve(model.graph());
  }

  void run() { graph(*model_.mutable_graph()); }

 private:
  bool crosses(std::int64_t version) const { return from_ < version && version <= to_; }

  void graph(onnx::GraphProto& graph) {
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) this->graph(*attribute.mutable_g());
        for (onnx::GraphProto& body : *attribute.mutable_graphs()) this->graph(body);
      }
      if (node.domain().empty() || node.domain() == "ai.onnx") convert(node, graph);
    }
  }

  void convert(onnx::NodeProto& node, onnx::GraphProto& graph) {
    for (const Break& change : kBreaks) {
      if (node.op_type() == change.type && crosses(change.since)) {
        throw Error(
            ErrorCode::kInvalidModel, "export",
            fmt::format("\"{}\" ({}) means something else from opset {} on, and the quantizers "
                        "need opset {}",
                        node.name(), node.op_type(), change.since, to_),
            "use 8 bits and no blocks, or convert the model with onnx.version_converter first");
      }
    }
    if (crosses(kSoftmaxAlongAxis)) check_softmax(node);
    if (crosses(kDropoutRatioIsInput) && node.op_type() == "Dropout") {
      node.clear_attribute();  // the ratio has no effect outside of training
    }
    if (crosses(kFirstAxesAreInputs)) {
      if (node.op_type() == "Squeeze" || node.op_type() == "Unsqueeze" ||
          node.op_type() == "ReduceSum") {
        attribute_to_input(node, "axes", graph);
      }
      if (node.op_type() == "Split") attribute_to_input(node, "split", graph);
    }
    if (crosses(kAxesAreInputs) &&
        std::find(kReductions.begin(), kReductions.end(), node.op_type()) != kReductions.end()) {
      attribute_to_input(node, "axes", graph);
    }
    if (node.op_type() == "Split" && crosses(kSplitCounts) && node.input_size() < 2) {
      onnx::AttributeProto* count = node.add_attribute();
      count->set_name("num_outputs");
      count->set_type(onnx::AttributeProto::INT);
      count->set_i(node.output_size());
    }
    if (node.op_type() == "GridSample" && crosses(kNewModeNames)) rename_mode(node);
  }

  // The last axis means the same in both forms; for another one the rank would have to be known.
  void check_softmax(const onnx::NodeProto& node) const {
    if (node.op_type() != "Softmax" && node.op_type() != "LogSoftmax" &&
        node.op_type() != "Hardmax")
      return;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.name() == "axis" && attribute.i() == -1) return;
    }
    throw Error(ErrorCode::kInvalidModel, "export",
                fmt::format("\"{}\" ({}) may mean something else from opset {} on, and the "
                            "quantizers need opset {}",
                            node.name(), node.op_type(), kSoftmaxAlongAxis, to_),
                "give it the axis -1 when it works along the last one, or convert the model with "
                "onnx.version_converter first");
  }

  void attribute_to_input(onnx::NodeProto& node, const char* key, onnx::GraphProto& graph) {
    auto* attributes = node.mutable_attribute();
    for (int i = 0; i < attributes->size(); ++i) {
      if (attributes->Get(i).name() != key) continue;
      const std::string name = names_.make(node.output(0) + "_" + key);
      onnx::TensorProto* axes = graph.add_initializer();
      axes->set_name(name);
      axes->set_data_type(onnx::TensorProto::INT64);
      axes->add_dims(attributes->Get(i).ints_size());
      for (const std::int64_t axis : attributes->Get(i).ints()) axes->add_int64_data(axis);
      node.add_input(name);
      attributes->DeleteSubrange(i, 1);
      return;
    }
  }

  static void rename_mode(onnx::NodeProto& node) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.name() != "mode") continue;
      if (attribute.s() == "bilinear") attribute.set_s("linear");
      if (attribute.s() == "bicubic") attribute.set_s("cubic");
    }
  }

  onnx::ModelProto& model_;
  std::int64_t from_;
  std::int64_t to_;
  UniqueNames names_;
};

// Smallest IR version that knows an operator set. Source: table of versions of ONNX.
std::int64_t ir_version_of(std::int64_t opset) {
  return opset >= 21 ? 10 : opset >= 19 ? 9 : opset >= 15 ? 8 : 7;
}

}  // namespace

void raise_opset(onnx::ModelProto& model, std::int64_t target) {
  for (onnx::OperatorSetIdProto& import : *model.mutable_opset_import()) {
    if (!import.domain().empty() && import.domain() != "ai.onnx") continue;
    if (import.version() >= target) return;
    if (import.version() < kFirstConvertible || target > kNewest) {
      throw Error(ErrorCode::kInvalidModel, "export",
                  fmt::format("the model has opset {} and its quantizers need opset {}, but "
                              "operators such as \"{}\" may change their "
                              "meaning below opset {}",
                              import.version(), target,
                              model.graph().node_size() > 0 ? model.graph().node(0).op_type() : "",
                              kFirstConvertible),
                  fmt::format("convert the model to opset {} with onnx.version_converter first",
                              std::max(target, kFirstConvertible)));
    }
    Raiser(model, import.version(), target).run();
    import.set_version(target);
    model.set_ir_version(std::max<std::int64_t>(model.ir_version(), ir_version_of(target)));
    return;
  }
}

}  // namespace bitsweep::graph
