#include "graph/opset/opset_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>

#include "base/half.h"
#include "bitsweep/error.h"
#include "graph/attributes.h"
#include "graph/file/tensor_proto.h"

namespace bitsweep::graph {
namespace {

using Context = OpsetStepContext;
using onnx::AttributeProto;
using onnx::NodeProto;

[[noreturn]] void refuse(const NodeProto& node, const Context& context, const std::string& why) {
  throw Error(ErrorCode::kInvalidModel, "export",
              fmt::format("\"{}\" ({}) {}, and the quantizers need opset {}", node.name(),
                          node.op_type(), why, context.target),
              "choose formats that need a lower opset (8 bits, no blocks), or rewrite the node");
}

std::optional<std::int64_t> rank(const Context& context, const std::string& tensor) {
  const TensorInfo* known = context.facts(tensor);
  if (known == nullptr) return {};
  if (known->shape) return static_cast<std::int64_t>(known->shape->size());
  if (known->inferred_shape) return static_cast<std::int64_t>(known->inferred_shape->size());
  return {};
}

std::string add_constant(Context& context, const Tensor& value, const std::string& wish) {
  std::string name = context.names.make(wish);
  write_tensor(value, name, context.graph.add_initializer());
  return name;
}

std::string add_ints(Context& context, const std::vector<std::int64_t>& values, const Shape& shape,
                     const std::string& wish) {
  Tensor tensor = Tensor::allocate(DataType::kInt64, shape);
  std::copy(values.begin(), values.end(), static_cast<std::int64_t*>(tensor.mutable_data()));
  return add_constant(context, tensor, wish);
}

std::string add_floats(Context& context, const std::vector<float>& values, const Shape& shape,
                       const std::string& wish) {
  Tensor tensor = Tensor::allocate(DataType::kFloat, shape);
  std::copy(values.begin(), values.end(), static_cast<float*>(tensor.mutable_data()));
  return add_constant(context, tensor, wish);
}

// A scalar of the type of the node's data.
std::string add_scalar(Context& context, const NodeProto& node, float value,
                       const std::string& wish) {
  const TensorInfo* known = context.facts(node.input(0));
  const DataType type =
      known == nullptr || known->type == DataType::kUndefined ? DataType::kFloat : known->type;
  Tensor tensor = Tensor::allocate(type, {});
  if (type == DataType::kFloat) {
    *static_cast<float*>(tensor.mutable_data()) = value;
  } else if (type == DataType::kDouble) {
    *static_cast<double*>(tensor.mutable_data()) = value;
  } else if (type == DataType::kFloat16) {
    *static_cast<std::uint16_t*>(tensor.mutable_data()) = float_to_half(value);
  } else {
    refuse(node, context, "has a constant that moves to an input of another type");
  }
  return add_constant(context, tensor, wish);
}

// Inputs that are left out are empty names.
void put_input(NodeProto& node, int index, const std::string& name) {
  while (node.input_size() <= index) node.add_input("");
  node.set_input(index, name);
}

void ints_to_input(NodeProto& node, Context& context, const char* key, int index) {
  const AttributeProto* attribute = find_attribute(node, key);
  if (attribute == nullptr) return;
  const std::vector<std::int64_t> values(attribute->ints().begin(), attribute->ints().end());
  put_input(node, index,
            add_ints(context, values, {static_cast<std::int64_t>(values.size())},
                     node.output(0) + "_" + key));
  remove_attribute(&node, key);
}

void scalar_to_input(NodeProto& node, Context& context, const char* key, int index) {
  const AttributeProto* attribute = find_attribute(node, key);
  if (attribute == nullptr) return;
  put_input(node, index, add_scalar(context, node, attribute->f(), node.output(0) + "_" + key));
  remove_attribute(&node, key);
}

void axes_to_input(NodeProto& node, Context& context) { ints_to_input(node, context, "axes", 1); }

bool axes_to_attribute(NodeProto& node, const Constants& constants) {
  if (node.input_size() < 2 || node.input(1).empty()) return true;
  const Tensor axes = constants(node.input(1));
  if (!axes.defined() || axes.type() != DataType::kInt64 || axes.size() == 0 ||
      find_attribute(node, "noop_with_empty_axes") != nullptr)
    return false;
  set_ints(&node, "axes",
           {static_cast<const std::int64_t*>(axes.data()), static_cast<std::size_t>(axes.size())});
  node.mutable_input()->DeleteSubrange(1, 1);
  return true;
}

void split_to_input(NodeProto& node, Context& context) { ints_to_input(node, context, "split", 1); }

void count_outputs(NodeProto& node, Context&) {
  if (node.input_size() < 2) set_int(&node, "num_outputs", node.output_size());
}

bool drop_count(NodeProto& node, const Constants&) {
  remove_attribute(&node, "num_outputs");
  return true;
}

bool stays(NodeProto&, const Constants&) { return true; }

void slice_to_inputs(NodeProto& node, Context& context) {
  ints_to_input(node, context, "starts", 1);
  ints_to_input(node, context, "ends", 2);
  ints_to_input(node, context, "axes", 3);
}

void top_k_to_input(NodeProto& node, Context& context) {
  const AttributeProto* k = find_attribute(node, "k");
  if (k == nullptr) return;
  put_input(node, 1, add_ints(context, {k->i()}, {1}, node.output(0) + "_k"));
  remove_attribute(&node, "k");
}

void clip_to_inputs(NodeProto& node, Context& context) {
  scalar_to_input(node, context, "min", 1);
  scalar_to_input(node, context, "max", 2);
}

void pad_to_inputs(NodeProto& node, Context& context) {
  ints_to_input(node, context, "pads", 1);
  if (string_attribute(node, "mode", "constant") == "constant")
    scalar_to_input(node, context, "value", 2);
  remove_attribute(&node, "value");
}

void rename_scatter(NodeProto& node, Context&) { node.set_op_type("ScatterElements"); }

// The ratio has no effect outside of training.
void drop_ratio(NodeProto& node, Context&) { node.clear_attribute(); }

void drop_spatial(NodeProto& node, Context& context) {
  const AttributeProto* spatial = find_attribute(node, "spatial");
  if (spatial != nullptr && spatial->i() != 1)
    refuse(node, context, "normalizes each position by itself, which opset 9 dropped");
  remove_attribute(&node, "spatial");
}

void check_outputs(NodeProto& node, Context& context) {
  for (int i = 1; i < node.output_size(); ++i) {
    if (!node.output(i).empty()) refuse(node, context, "gives statistics of training");
  }
  while (node.output_size() > 1) node.mutable_output()->RemoveLast();
}

void scales_to_input(NodeProto& node, Context& context) {
  const AttributeProto* scales = find_attribute(node, "scales");
  if (scales == nullptr) return;
  const std::vector<float> values(scales->floats().begin(), scales->floats().end());
  put_input(node, 1,
            add_floats(context, values, {static_cast<std::int64_t>(values.size())},
                       node.output(0) + "_scales"));
  remove_attribute(&node, "scales");
}

void rename_upsample(NodeProto& node, Context&) { node.set_op_type("Resize"); }

// Constants small enough to lie in the message itself.
std::vector<float> constant_floats(const Context& context, const std::string& name) {
  const auto values = [](const onnx::TensorProto& tensor) {
    std::vector<float> result(tensor.float_data().begin(), tensor.float_data().end());
    if (result.empty() && tensor.data_type() == onnx::TensorProto::FLOAT) {
      result.resize(tensor.raw_data().size() / sizeof(float));
      std::memcpy(result.data(), tensor.raw_data().data(), result.size() * sizeof(float));
    }
    return result;
  };
  for (const onnx::TensorProto& tensor : context.graph.initializer()) {
    if (tensor.name() == name) return values(tensor);
  }
  for (const NodeProto& node : context.graph.node()) {
    if (node.op_type() == "Constant" && node.output(0) == name && node.attribute(0).has_t())
      return values(node.attribute(0).t());
  }
  return {};
}

// Up to opset 10 coordinates were multiplied by the scale, and runtimes rounded them down where the
// image grew; where it shrinks they did not agree.
void place_coordinates(NodeProto& node, Context& context) {
  if (string_attribute(node, "mode", "nearest") == "nearest") {
    const std::vector<float> scales =
        node.input_size() > 1 ? constant_floats(context, node.input(1)) : std::vector<float>();
    if (scales.empty() ||
        std::any_of(scales.begin(), scales.end(), [](float scale) { return scale < 1.0F; }))
      refuse(node, context, "rounds coordinates in a way that opset 11 can't say");
    set_string(&node, "nearest_mode", "floor");
  }
  set_string(&node, "coordinate_transformation_mode", "asymmetric");
  const std::string scales = node.input(1);
  put_input(node, 1, add_floats(context, {}, {0}, node.output(0) + "_roi"));
  put_input(node, 2, scales);
}

NodeProto make_node(Context& context, const NodeProto& like, const char* type,
                    std::initializer_list<std::string> inputs, const std::string& output) {
  NodeProto node;
  node.set_op_type(type);
  node.set_name(context.names.make(like.name() + "_" + type));
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

// Up to opset 12 all axes from the given one on were taken as one, behind it as many as there are.
// Along the last axis that is what the new form says; elsewhere the tensor becomes a matrix first.
void along_one_axis(NodeProto& node, Context& context) {
  const AttributeProto* attribute = find_attribute(node, "axis");
  const std::int64_t axis = attribute == nullptr ? 1 : attribute->i();
  const auto known_rank = rank(context, node.input(0));
  const bool last = axis == -1 || (known_rank && axis == *known_rank - 1);
  set_int(&node, "axis", -1);
  if (last) return;
  const std::string x = node.input(0);
  const std::string y = node.output(0);
  const std::string shape = context.names.make(y + "_shape");
  const std::string matrix = context.names.make(x + "_matrix");
  const std::string result = context.names.make(y + "_matrix");
  context.before.push_back(make_node(context, node, "Shape", {x}, shape));
  context.before.push_back(make_node(context, node, "Flatten", {x}, matrix));
  set_int(&context.before.back(), "axis", axis);
  node.set_input(0, matrix);
  node.set_output(0, result);
  context.after.push_back(make_node(context, node, "Reshape", {result, shape}, y));
}

void shift_half_pixel(NodeProto& node, Context&) {
  if (find_attribute(node, "coordinate_transformation_mode") == nullptr)
    set_string(&node, "coordinate_transformation_mode", "output_half_pixel");
}

bool drop_shift(NodeProto& node, const Constants&) {
  if (string_attribute(node, "coordinate_transformation_mode", "") != "output_half_pixel")
    return false;
  remove_attribute(&node, "coordinate_transformation_mode");
  return true;
}

void rename_mode(NodeProto& node, Context&) {
  const std::string mode = string_attribute(node, "mode", "bilinear");
  set_string(&node, "mode",
             mode == "bilinear"  ? "linear"
             : mode == "bicubic" ? "cubic"
                                 : mode.c_str());
}

bool rename_mode_back(NodeProto& node, const Constants&) {
  const std::string mode = string_attribute(node, "mode", "linear");
  set_string(&node, "mode",
             mode == "linear"  ? "bilinear"
             : mode == "cubic" ? "bicubic"
                               : mode.c_str());
  return true;
}

void refuse_scan(NodeProto& node, Context& context) {
  refuse(node, context, "has a batch axis, which opset 9 dropped");
}

void refuse_dft(NodeProto& node, Context& context) {
  refuse(node, context, "means something else from opset 20 on");
}

void refuse_group_norm(NodeProto& node, Context& context) {
  refuse(node, context, "has one scale per group, and from opset 21 on one per channel");
}

constexpr std::array kSteps = {
    OpsetStep{9, "BatchNormalization", drop_spatial},
    OpsetStep{9, "Scan", refuse_scan},
    OpsetStep{9, "Upsample", scales_to_input},
    OpsetStep{10, "Slice", slice_to_inputs},
    OpsetStep{10, "TopK", top_k_to_input},
    OpsetStep{10, "Upsample", rename_upsample},
    OpsetStep{11, "Clip", clip_to_inputs},
    OpsetStep{11, "Pad", pad_to_inputs},
    OpsetStep{11, "Resize", place_coordinates},
    OpsetStep{11, "Scatter", rename_scatter},
    OpsetStep{12, "Dropout", drop_ratio},
    OpsetStep{13, "Hardmax", along_one_axis},
    OpsetStep{13, "LogSoftmax", along_one_axis},
    OpsetStep{13, "ReduceSum", axes_to_input},
    OpsetStep{13, "Softmax", along_one_axis},
    OpsetStep{13, "Split", split_to_input},
    OpsetStep{13, "Squeeze", axes_to_input},
    OpsetStep{13, "Unsqueeze", axes_to_input},
    OpsetStep{14, "BatchNormalization", check_outputs, stays},
    OpsetStep{16, "RoiAlign", shift_half_pixel, drop_shift},
    OpsetStep{18, "ReduceL1", axes_to_input, axes_to_attribute},
    OpsetStep{18, "ReduceL2", axes_to_input, axes_to_attribute},
    OpsetStep{18, "ReduceLogSum", axes_to_input, axes_to_attribute},
    OpsetStep{18, "ReduceLogSumExp", axes_to_input, axes_to_attribute},
    OpsetStep{18, "ReduceMax", axes_to_input, axes_to_attribute},
    OpsetStep{18, "ReduceMean", axes_to_input, axes_to_attribute},
    OpsetStep{18, "ReduceMin", axes_to_input, axes_to_attribute},
    OpsetStep{18, "ReduceProd", axes_to_input, axes_to_attribute},
    OpsetStep{18, "ReduceSumSquare", axes_to_input, axes_to_attribute},
    OpsetStep{18, "Split", count_outputs, drop_count},
    OpsetStep{20, "DFT", refuse_dft},
    OpsetStep{20, "GridSample", rename_mode, rename_mode_back},
    OpsetStep{21, "GroupNormalization", refuse_group_norm},
};

}  // namespace

std::span<const OpsetStep> opset_steps() { return kSteps; }

}  // namespace bitsweep::graph
