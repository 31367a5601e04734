#include "graph/attributes.h"

namespace bitsweep::graph {
namespace {

onnx::AttributeProto* renew(onnx::NodeProto* node, std::string_view name,
                            onnx::AttributeProto::AttributeType type) {
  remove_attribute(node, name);
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(std::string(name));
  attribute->set_type(type);
  return attribute;
}

}  // namespace

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const onnx::AttributeProto& a : node.attribute()) {
    if (a.name() == name) return &a;
  }
  return nullptr;
}

std::int64_t int_attribute(const onnx::NodeProto& node, std::string_view name,
                           std::int64_t fallback) {
  const onnx::AttributeProto* a = find_attribute(node, name);
  return a != nullptr ? a->i() : fallback;
}

float float_attribute(const onnx::NodeProto& node, std::string_view name, float fallback) {
  const onnx::AttributeProto* a = find_attribute(node, name);
  return a != nullptr ? a->f() : fallback;
}

std::string string_attribute(const onnx::NodeProto& node, std::string_view name,
                             const char* fallback) {
  const onnx::AttributeProto* a = find_attribute(node, name);
  return a != nullptr ? a->s() : fallback;
}

void remove_attribute(onnx::NodeProto* node, std::string_view name) {
  auto* attributes = node->mutable_attribute();
  for (int i = attributes->size(); i-- > 0;) {
    if (attributes->Get(i).name() == name) attributes->DeleteSubrange(i, 1);
  }
}

void set_int(onnx::NodeProto* node, std::string_view name, std::int64_t value) {
  renew(node, name, onnx::AttributeProto::INT)->set_i(value);
}

void set_float(onnx::NodeProto* node, std::string_view name, float value) {
  renew(node, name, onnx::AttributeProto::FLOAT)->set_f(value);
}

void set_string(onnx::NodeProto* node, std::string_view name, std::string_view value) {
  renew(node, name, onnx::AttributeProto::STRING)->set_s(std::string(value));
}

void set_ints(onnx::NodeProto* node, std::string_view name, std::span<const std::int64_t> values) {
  onnx::AttributeProto* attribute = renew(node, name, onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute->add_ints(value);
}

void set_floats(onnx::NodeProto* node, std::string_view name, std::span<const float> values) {
  onnx::AttributeProto* attribute = renew(node, name, onnx::AttributeProto::FLOATS);
  for (const float value : values) attribute->add_floats(value);
}

}  // namespace bitsweep::graph
