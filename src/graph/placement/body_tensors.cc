#include "graph/placement/body_tensors.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "graph/graph_data.h"

namespace bitsweep::graph {
namespace {

template <std::size_t n>
bool contains(const std::array<std::string_view, n>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 5> kIntegerResult = {"Shape", "Size", "ArgMax", "ArgMin",
                                                            "NonZero"};
constexpr std::array<std::string_view, 12> kLogicResult = {"And",
                                                           "Or",
                                                           "Xor",
                                                           "Not",
                                                           "Equal",
                                                           "Greater",
                                                           "GreaterOrEqual",
                                                           "Less",
                                                           "LessOrEqual",
                                                           "IsNaN",
                                                           "IsInf",
                                                           "OptionalHasElement"};
/// What computes indices and sizes, as far as its result has the type of its first input.
constexpr std::array<std::string_view, 26> kTypeOfFirstInput = {
    "Abs",     "Add",   "Clip",  "Concat",  "Div", "Expand", "Gather",    "GatherND",  "Identity",
    "Max",     "Min",   "Mod",   "Mul",     "Neg", "Range",  "ReduceMax", "ReduceMin", "ReduceProd",
    "Reshape", "Slice", "Split", "Squeeze", "Sub", "Tile",   "Transpose", "Unsqueeze"};

DataType constant_type(const onnx::NodeProto& node) {
  for (const onnx::AttributeProto& a : node.attribute()) {
    if (a.name() == "value") return static_cast<DataType>(a.t().data_type());
    if (a.name() == "sparse_value")
      return static_cast<DataType>(a.sparse_tensor().values().data_type());
    if (a.name() == "value_float" || a.name() == "value_floats") return DataType::kFloat;
    if (a.name() == "value_int" || a.name() == "value_ints") return DataType::kInt64;
    if (a.name() == "value_string" || a.name() == "value_strings") return DataType::kString;
  }
  // ConstantOfShape without a value.
  return DataType::kFloat;
}

/// Types by name, those of the bodies and the graph around included.
class TensorTypes {
 public:
  TensorTypes(const Graph& graph, const TensorTypes* outer, const onnx::GraphProto& body)
      : graph_(graph), outer_(outer) {
    const auto declare = [&](const auto& values) {
      for (const onnx::ValueInfoProto& value : values)
        set(value.name(), static_cast<DataType>(value.type().tensor_type().elem_type()));
    };
    declare(body.input());
    declare(body.output());
    declare(body.value_info());
  }

  // What is declared stays.
  void set(const std::string& name, DataType type) {
    DataType& known = types_[name];
    if (known == DataType::kUndefined) known = type;
  }

  DataType of(const std::string& name) const {
    if (const auto type = types_.find(name); type != types_.end()) return type->second;
    if (outer_ != nullptr) return outer_->of(name);
    const TensorId id = graph_.find(name);
    return id == kAbsent ? DataType::kUndefined : graph_.tensor(id).type;
  }

  DataType result_of(const onnx::NodeProto& node) const {
    const std::string& op = node.op_type();
    if (!node.domain().empty() && node.domain() != "ai.onnx") return DataType::kUndefined;
    if (op == "Constant" || op == "ConstantOfShape") return constant_type(node);
    if (contains(kIntegerResult, op)) return DataType::kInt64;
    if (contains(kLogicResult, op)) return DataType::kBool;
    if (op == "Cast") {
      for (const onnx::AttributeProto& a : node.attribute())
        if (a.name() == "to") return static_cast<DataType>(a.i());
    }
    if (contains(kTypeOfFirstInput, op) && node.input_size() > 0) return of(node.input(0));
    return DataType::kUndefined;
  }

 private:
  const Graph& graph_;
  const TensorTypes* outer_;
  std::map<std::string, DataType> types_;
};

void list_body(const Graph& graph, const TensorTypes* outer, const onnx::GraphProto& body,
               std::vector<BodyTensor>& tensors) {
  TensorTypes types(graph, outer, body);
  std::set<std::string> statics;
  const auto add_static = [&](const onnx::TensorProto& value) {
    const auto type = static_cast<DataType>(value.data_type());
    statics.insert(value.name());
    types.set(value.name(), type);
    tensors.push_back({value.name(), type});
  };
  for (const onnx::TensorProto& value : body.initializer()) add_static(value);
  for (const onnx::SparseTensorProto& value : body.sparse_initializer()) add_static(value.values());
  for (const onnx::ValueInfoProto& input : body.input()) {
    if (statics.count(input.name()) == 0) tensors.push_back({input.name(), types.of(input.name())});
  }
  for (const onnx::NodeProto& node : body.node()) {
    const DataType result = types.result_of(node);
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      types.set(output, result);
      tensors.push_back({output, types.of(output)});
    }
    for_each_body(node,
                  [&](const onnx::GraphProto& inner) { list_body(graph, &types, inner, tensors); });
  }
}

}  // namespace

std::vector<BodyTensor> body_tensors(const Graph& graph, int node) {
  std::vector<BodyTensor> tensors;
  for_each_body(*graph.data().nodes[static_cast<std::size_t>(node)],
                [&](const onnx::GraphProto& body) { list_body(graph, nullptr, body, tensors); });
  return tensors;
}

}  // namespace bitsweep::graph
