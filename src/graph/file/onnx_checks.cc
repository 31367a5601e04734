#include "graph/file/onnx_checks.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_set>

#include "bitsweep/tensor.h"
#include "graph/bodies/bodies.h"
#include "graph/file/model_impl.h"

namespace bitsweep::graph {
namespace {

using Names = std::unordered_set<std::string>;

// First operator set of ai.onnx whose QuantizeLinear knows a type of codes; 0: none does.
std::int64_t first_opset(std::int32_t type) {
  switch (type) {
    case onnx::TensorProto::INT8:
    case onnx::TensorProto::UINT8:
    case onnx::TensorProto::INT32:
      return 10;
    case onnx::TensorProto::FLOAT8E4M3FN:
    case onnx::TensorProto::FLOAT8E5M2:
    case onnx::TensorProto::FLOAT8E4M3FNUZ:
    case onnx::TensorProto::FLOAT8E5M2FNUZ:
      return 19;
    case onnx::TensorProto::INT16:
    case onnx::TensorProto::UINT16:
    case onnx::TensorProto::INT4:
    case onnx::TensorProto::UINT4:
      return 21;
    case static_cast<int>(DataType::kInt2):  // younger than the message's own names
    case static_cast<int>(DataType::kUint2):
      return 25;
    default:
      return 0;
  }
}

// IR version that came with an operator set. Source: table of versions of ONNX.
std::int64_t ir_version_of(std::int64_t opset) {
  return opset >= 21 ? 10 : opset >= 19 ? 9 : opset >= 15 ? 8 : opset >= 13 ? 7 : 3;
}

class Checker {
 public:
  explicit Checker(const Model& model) : proto_(model.impl()->proto), opset_(model.opset()) {}

  std::vector<std::string> run() {
    if (proto_.ir_version() < ir_version_of(opset_)) {
      add(fmt::format("IR version {} is too low for opset {}, which needs {}", proto_.ir_version(),
                      opset_, ir_version_of(opset_)));
    }
    for (const onnx::TensorProto& tensor : proto_.graph().initializer())
      initializers_.emplace(tensor.name(), &tensor);
    graph(proto_.graph(), {});
    return std::move(problems_);
  }

 private:
  void add(std::string problem) { problems_.push_back(std::move(problem)); }

  // `outside`: what the bodies of If, Loop and Scan see of the graphs around them.
  void graph(const onnx::GraphProto& graph, const Names& outside) {
    Names known = outside;
    Names made;
    for (const onnx::ValueInfoProto& input : graph.input()) known.insert(input.name());
    for (const onnx::TensorProto& tensor : graph.initializer()) known.insert(tensor.name());
    for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer())
      known.insert(tensor.values().name());
    for (const onnx::NodeProto& node : graph.node()) {
      if (!node.name().empty() && !node_names_.insert(node.name()).second)
        add(fmt::format("two nodes are named \"{}\"", node.name()));
      for (const std::string& input : node.input()) {
        if (!input.empty() && known.count(input) == 0)
          add(fmt::format("node \"{}\" ({}) reads \"{}\" before anything makes it", node.name(),
                          node.op_type(), input));
      }
      for_each_body(node, [&](const onnx::GraphProto& body) { this->graph(body, known); });
      for (const std::string& output : node.output()) {
        if (output.empty()) continue;
        if (!made.insert(output).second || !known.insert(output).second)
          add(fmt::format("\"{}\" is made twice", output));
      }
      linear(node);
    }
    for (const onnx::ValueInfoProto& output : graph.output()) {
      if (known.count(output.name()) == 0)
        add(fmt::format("nothing makes the output \"{}\"", output.name()));
    }
  }

  const onnx::TensorProto* initializer(const onnx::NodeProto& node, int input) const {
    if (input >= node.input_size()) return nullptr;
    const auto it = initializers_.find(node.input(input));
    return it == initializers_.end() ? nullptr : it->second;
  }

  void linear(const onnx::NodeProto& node) {
    const bool quantizes = node.op_type() == "QuantizeLinear";
    if (!node.domain().empty() || (!quantizes && node.op_type() != "DequantizeLinear")) return;
    std::int64_t axis = 1;
    bool has_axis = false;
    bool has_blocks = false;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.name() == "axis") {
        axis = attribute.i();
        has_axis = true;
      }
      has_blocks = has_blocks || (attribute.name() == "block_size" && attribute.i() > 0);
    }
    const auto need = [&](std::int64_t opset, const std::string& what) {
      if (opset_ < opset)
        add(fmt::format("node \"{}\" uses {}, which need opset {}; the model has {}", node.name(),
                        what, opset, opset_));
    };
    if (has_blocks) need(21, "blocks");
    if (has_axis && !has_blocks) need(13, "scales per channel");
    if (const onnx::TensorProto* zero = initializer(node, 2); zero != nullptr) {
      const std::int64_t first = first_opset(zero->data_type());
      if (first == 0) {
        add(fmt::format("node \"{}\" has codes of a type that it can't have", node.name()));
      } else {
        need(first, "codes of type " +
                        std::string(data_type_name(static_cast<DataType>(zero->data_type()))));
      }
    }
    const onnx::TensorProto* value = initializer(node, 0);
    const onnx::TensorProto* scale = initializer(node, 1);
    if (value == nullptr || scale == nullptr || scale->dims_size() != 1 || scale->dims(0) == 1)
      return;
    if (axis < 0) axis += value->dims_size();
    if (axis < 0 || axis >= value->dims_size()) {
      add(fmt::format("node \"{}\" has an axis outside its input", node.name()));
    } else if (!has_blocks && value->dims(static_cast<int>(axis)) != scale->dims(0)) {
      add(fmt::format("node \"{}\" has {} scales for {} channels on axis {}", node.name(),
                      scale->dims(0), value->dims(static_cast<int>(axis)), axis));
    }
  }

  const onnx::ModelProto& proto_;
  std::int64_t opset_;
  std::set<std::string> node_names_;
  std::map<std::string, const onnx::TensorProto*> initializers_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> onnx_problems(const Model& model) { return Checker(model).run(); }

}  // namespace bitsweep::graph
