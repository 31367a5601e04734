#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "onnx-ml.pb.h"

namespace bitsweep::graph {

/// Attribute of a node, or null.
const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name);
std::int64_t int_attribute(const onnx::NodeProto& node, std::string_view name,
                           std::int64_t fallback);
float float_attribute(const onnx::NodeProto& node, std::string_view name, float fallback);
std::string string_attribute(const onnx::NodeProto& node, std::string_view name,
                             const char* fallback);

void remove_attribute(onnx::NodeProto* node, std::string_view name);

/// Each puts an attribute behind the others of a node, in place of one with this name.
void set_int(onnx::NodeProto* node, std::string_view name, std::int64_t value);
void set_float(onnx::NodeProto* node, std::string_view name, float value);
void set_string(onnx::NodeProto* node, std::string_view name, std::string_view value);
void set_ints(onnx::NodeProto* node, std::string_view name, std::span<const std::int64_t> values);
void set_floats(onnx::NodeProto* node, std::string_view name, std::span<const float> values);

}  // namespace bitsweep::graph
