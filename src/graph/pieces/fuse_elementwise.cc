#include "graph/pieces/fuse_elementwise.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "graph/attributes.h"
#include "graph/bodies/bodies.h"
#include "graph/file/tensor_proto.h"
#include "graph/pieces/subgraph.h"
#include "quant/elementwise_program.h"

namespace bitsweep::graph {
namespace {

using kernels::Arithmetic;
using Step = ElementwiseProgram::Step;

// The first operator set in which Clip has its bounds as inputs.
constexpr std::int64_t kClipWithInputs = 11;

bool is_quantizer(const onnx::NodeProto& node) {
  return node.domain() == kQuantizerDomain && node.input_size() == 2;
}

float float_attribute(const onnx::NodeProto& node, std::string_view name, float fallback) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return attribute.f();
  }
  return fallback;
}

class Fuser {
 public:
  Fuser(onnx::GraphProto* graph, std::int64_t opset,
        const std::function<const TensorInfo*(const std::string&)>& find)
      : graph_(*graph), opset_(opset), find_(find) {
    for (const onnx::TensorProto& tensor : graph_.initializer())
      initializers_[tensor.name()] = &tensor;
    for (const onnx::ValueInfoProto& output : graph_.output()) escaping_.insert(output.name());
    for (int n = 0; n < graph_.node_size(); ++n) {
      const onnx::NodeProto& node = graph_.node(n);
      for (const std::string& name : node.output()) producer_[name] = n;
      for (const std::string& name : node.input()) readers_[name].insert(n);
      for (const std::string& name : captured_names(node)) escaping_.insert(name);
    }
    for (int n = 0; n < graph_.node_size(); ++n)
      can_fuse_.push_back(is_elementwise(graph_.node(n)));
  }

  void run() {
    for (int n = graph_.node_size() - 1; n >= 0; --n) {
      if (is_quantizer(graph_.node(n)) && can_fuse_[static_cast<std::size_t>(n)]) fuse_into(n);
    }
    if (gone_.empty()) return;
    google::protobuf::RepeatedPtrField<onnx::NodeProto> left;
    for (int n = 0; n < graph_.node_size(); ++n) {
      if (gone_.count(n) == 0) *left.Add() = std::move(*graph_.mutable_node(n));
    }
    *graph_.mutable_node() = std::move(left);
  }

 private:
  /// A set of nodes whose last one is the result.
  struct Group {
    std::set<int> nodes;
    std::set<std::string> roots;  ///< what they read from outside, constants left aside
  };

  const onnx::TensorProto* initializer(const std::string& name) const {
    const auto found = initializers_.find(name);
    return found == initializers_.end() ? nullptr : found->second;
  }

  std::optional<float> scalar(const std::string& name) const {
    const onnx::TensorProto* tensor = initializer(name);
    if (tensor == nullptr || tensor->data_type() != onnx::TensorProto::FLOAT ||
        tensor->data_location() == onnx::TensorProto::EXTERNAL) {
      return std::nullopt;
    }
    const Tensor value = read_tensor(*tensor, {}, nullptr);
    if (value.size() != 1) return std::nullopt;
    return value.floats()[0];
  }

  // An operand may not raise the rank of the result.
  bool keeps_shape(const std::string& constant, const std::string& tensor) const {
    const int rank = initializer(constant)->dims_size();
    const TensorInfo* info = find_(tensor);
    if (rank == 0 || info == nullptr) return rank == 0;
    if (info->shape) return static_cast<int>(info->shape->size()) >= rank;
    return info->inferred_shape && static_cast<int>(info->inferred_shape->size()) >= rank;
  }

  // The two operands of a sum, difference, product or quotient: tensors, or a tensor and a scalar.
  bool is_binary(const onnx::NodeProto& node) const {
    static const std::set<std::string, std::less<>> kTypes = {"Add", "Sub", "Mul", "Div"};
    if (node.input_size() != 2 || kTypes.count(node.op_type()) == 0) return false;
    for (const auto& [a, b] : {std::pair{0, 1}, {1, 0}}) {
      if (initializer(node.input(a)) == nullptr) continue;
      if (!scalar(node.input(a)) || !keeps_shape(node.input(a), node.input(b))) return false;
    }
    return true;
  }

  bool is_elementwise(const onnx::NodeProto& node) const {
    if (is_quantizer(node)) return initializer(node.input(0)) == nullptr;
    if (!node.domain().empty() || node.output_size() != 1) return false;
    if (node.op_type() == "Relu" || node.op_type() == "HardSigmoid") return true;
    if (node.op_type() != "Clip") return is_binary(node);
    if (opset_ < kClipWithInputs) return true;
    return std::all_of(node.input().begin() + 1, node.input().end(), [&](const std::string& bound) {
      return bound.empty() || scalar(bound).has_value();
    });
  }

  std::vector<std::string> tensors_read(const onnx::NodeProto& node) const {
    if (is_quantizer(node) || node.op_type() == "Clip") return {node.input(0)};
    std::vector<std::string> names;
    for (const std::string& name : node.input()) {
      if (initializer(name) == nullptr) names.push_back(name);
    }
    return names;
  }

  // All that leads to `last` alone and does not lead through a barrier.
  Group grow(int last, const std::set<int>& barriers) const {
    Group group;
    group.nodes.insert(last);
    for (int n = last - 1; n >= 0; --n) {
      if (!can_fuse_[static_cast<std::size_t>(n)] || barriers.count(n) > 0) continue;
      const std::string& result = graph_.node(n).output(0);
      const auto readers = readers_.find(result);
      if (readers == readers_.end() || escaping_.count(result) > 0) continue;
      if (std::ranges::includes(group.nodes, readers->second)) group.nodes.insert(n);
    }
    for (const int n : group.nodes) {
      for (const std::string& name : tensors_read(graph_.node(n))) {
        const auto producer = producer_.find(name);
        if (producer == producer_.end() || group.nodes.count(producer->second) == 0)
          group.roots.insert(name);
      }
    }
    return group;
  }

  bool is_made_by_quantizer(const std::string& name) const {
    const auto producer = producer_.find(name);
    return producer != producer_.end() && is_quantizer(graph_.node(producer->second));
  }

  // The last node that keeps the group from being a function of one tensor behind a quantizer.
  std::optional<int> obstacle(const Group& group) const {
    for (auto n = group.nodes.rbegin(); n != group.nodes.rend(); ++n) {
      const std::vector<std::string> read = tensors_read(graph_.node(*n));
      if (group.roots.size() > 1 && read.size() > 1 && read[0] != read[1]) return *n;
      if (is_quantizer(graph_.node(*n))) continue;
      for (const std::string& name : read) {
        if (group.roots.count(name) > 0 && !is_made_by_quantizer(name)) return *n;
      }
    }
    return std::nullopt;
  }

  void fuse_into(int last) {
    const TensorInfo* info = find_(graph_.node(last).output(0));
    if (info == nullptr || info->type != DataType::kFloat) return;
    std::set<int> barriers;
    Group group = grow(last, barriers);
    while (const std::optional<int> barrier = obstacle(group)) {
      barriers.insert(*barrier);
      group = grow(last, barriers);
    }
    if (group.nodes.size() < 2 || group.roots.size() != 1) return;
    write(group, last);
  }

  void write(const Group& group, int last) {
    const std::string root = *group.roots.begin();
    std::map<std::string, int> values = {{root, 0}};
    std::vector<Step> steps;
    std::vector<float> constants;
    const auto constant = [&](float value) {
      constants.push_back(value);
      return -static_cast<int>(constants.size());
    };
    const auto operand = [&](const std::string& name) {
      const auto value = values.find(name);
      return value != values.end() ? value->second : constant(*scalar(name));
    };
    // Makes the next value.
    const auto compute = [&](Arithmetic op, int a, int b) {
      steps.push_back({.op = op, .a = a, .b = b});
      return static_cast<int>(steps.size());
    };
    bool in_place = false;
    for (const int n : group.nodes) {
      const onnx::NodeProto& node = graph_.node(n);
      int value = operand(node.input(0));
      if (is_quantizer(node)) {
        in_place = in_place || (value == 0 && node.op_type() == "FakeQuantInPlace");
        steps.push_back(
            {.quantizes = true, .a = value, .site = static_cast<int>(node.attribute(0).i())});
        value = static_cast<int>(steps.size());
      } else if (node.op_type() == "Relu") {
        value = compute(Arithmetic::kMaximum, value, constant(0.0F));
      } else if (node.op_type() == "HardSigmoid") {
        constexpr float kAlpha = 0.2F;  // the defaults of ONNX
        constexpr float kBeta = 0.5F;
        value =
            compute(Arithmetic::kMultiply, value, constant(float_attribute(node, "alpha", kAlpha)));
        value = compute(Arithmetic::kAdd, value, constant(float_attribute(node, "beta", kBeta)));
        value = compute(Arithmetic::kMinimum, value, constant(1.0F));
        value = compute(Arithmetic::kMaximum, value, constant(0.0F));
      } else if (node.op_type() == "Clip") {
        value = compute(Arithmetic::kMaximum, value, constant(clip_bound(node, 1)));
        value = compute(Arithmetic::kMinimum, value, constant(clip_bound(node, 2)));
      } else {
        static const std::map<std::string, Arithmetic, std::less<>> kOps = {
            {"Add", Arithmetic::kAdd},
            {"Sub", Arithmetic::kSubtract},
            {"Mul", Arithmetic::kMultiply},
            {"Div", Arithmetic::kDivide}};
        const int b = operand(node.input(1));
        value = compute(kOps.at(node.op_type()), value, b);
      }
      values[node.output(0)] = value;
    }
    if (!ElementwiseProgram::fits(steps)) return;
    write_node(last, root, in_place, ElementwiseProgram(std::move(steps), std::move(constants)));
    for (const int n : group.nodes) {
      can_fuse_[static_cast<std::size_t>(n)] = false;
      if (n != last) gone_.insert(n);
    }
  }

  float clip_bound(const onnx::NodeProto& node, int index) const {
    const float none =
        index == 1 ? std::numeric_limits<float>::lowest() : std::numeric_limits<float>::max();
    if (opset_ < kClipWithInputs) return float_attribute(node, index == 1 ? "min" : "max", none);
    if (node.input_size() <= index || node.input(index).empty()) return none;
    return *scalar(node.input(index));
  }

  void write_node(int last, const std::string& root, bool in_place,
                  const ElementwiseProgram& program) {
    onnx::NodeProto* node = graph_.mutable_node(last);
    node->set_op_type(in_place ? "ElementwiseInPlace" : "Elementwise");
    node->set_input(0, root);
    // The last quantizer's own number goes; what it says of the shape stays.
    node->mutable_attribute()->DeleteSubrange(0, 1);
    set_ints(node, "steps", program.encode());
    set_floats(node, "constants", program.constants());
  }

  onnx::GraphProto& graph_;
  const std::int64_t opset_;
  const std::function<const TensorInfo*(const std::string&)>& find_;
  std::map<std::string, const onnx::TensorProto*> initializers_;
  std::map<std::string, int> producer_;
  std::map<std::string, std::set<int>> readers_;
  std::set<std::string> escaping_;  // read from outside the nodes: outputs, bodies
  std::vector<bool> can_fuse_;      // by node; false once it is in a group
  std::set<int> gone_;
};

}  // namespace

void fuse_elementwise(onnx::GraphProto* graph, std::int64_t opset,
                      const std::function<const TensorInfo*(const std::string&)>& find) {
  Fuser(graph, opset, find).run();
}

}  // namespace bitsweep::graph
