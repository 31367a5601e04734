#include "graph/read_attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "bitsweep/error.h"

namespace bitsweep::graph {
namespace {

/// Files written before IR version 2017-10-30 leave the kind out; the field that is set tells it.
onnx::AttributeProto::AttributeType kind_of(const onnx::AttributeProto& a) {
  using A = onnx::AttributeProto;
  if (a.type() != A::UNDEFINED) return a.type();
  if (a.has_f()) return A::FLOAT;
  if (a.has_i()) return A::INT;
  if (a.has_s()) return A::STRING;
  if (a.has_g()) return A::GRAPH;
  if (a.floats_size() > 0) return A::FLOATS;
  if (a.ints_size() > 0) return A::INTS;
  if (a.strings_size() > 0) return A::STRINGS;
  return a.type();
}

template <typename T, typename Values>
Tensor tensor_of(DataType type, Shape shape, const Values& values) {
  Tensor t = Tensor::allocate(type, std::move(shape));
  std::copy(values.begin(), values.end(), static_cast<T*>(t.mutable_data()));
  return t;
}

}  // namespace

Attribute read_attribute(const onnx::AttributeProto& from) {
  using A = onnx::AttributeProto;
  using Kind = Attribute::Kind;
  Attribute to;
  switch (kind_of(from)) {
    case A::INT:
      to.kind = Kind::kInt;
      to.i = from.i();
      break;
    case A::FLOAT:
      to.kind = Kind::kFloat;
      to.f = from.f();
      break;
    case A::STRING:
      to.kind = Kind::kString;
      to.s = from.s();
      break;
    case A::INTS:
      to.kind = Kind::kInts;
      to.ints.assign(from.ints().begin(), from.ints().end());
      break;
    case A::FLOATS:
      to.kind = Kind::kFloats;
      to.floats.assign(from.floats().begin(), from.floats().end());
      break;
    case A::STRINGS:
      to.kind = Kind::kStrings;
      to.strings.assign(from.strings().begin(), from.strings().end());
      break;
    case A::GRAPH:
    case A::GRAPHS:
      to.kind = Kind::kGraph;
      break;
    default:
      break;
  }
  return to;
}

StaticSource constant_value(const onnx::NodeProto& node, std::span<const StoredBytes> stored) {
  for (const onnx::AttributeProto& a : node.attribute()) {
    if (a.name() == "value") return {&a.t(), {}};
    if (a.name() == "sparse_value") return {nullptr, read_sparse(a.sparse_tensor(), stored)};
    if (a.name() == "value_float")
      return {nullptr, tensor_of<float>(DataType::kFloat, {}, std::array{a.f()})};
    if (a.name() == "value_int")
      return {nullptr, tensor_of<std::int64_t>(DataType::kInt64, {}, std::array{a.i()})};
    if (a.name() == "value_floats")
      return {nullptr, tensor_of<float>(DataType::kFloat, {a.floats_size()}, a.floats())};
    if (a.name() == "value_ints")
      return {nullptr, tensor_of<std::int64_t>(DataType::kInt64, {a.ints_size()}, a.ints())};
    if (a.name() == "value_string")
      return {nullptr, Tensor::borrow(DataType::kString, {}, nullptr, nullptr)};
    if (a.name() == "value_strings")
      return {nullptr, Tensor::borrow(DataType::kString, {a.strings_size()}, nullptr, nullptr)};
  }
  throw Error(ErrorCode::kInvalidModel, "model",
              fmt::format("Constant node \"{}\" has no value", node.name()),
              "export the model again");
}

}  // namespace bitsweep::graph
