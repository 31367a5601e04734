#pragma once

#include <span>

#include "graph/graph_data.h"

namespace bitsweep::graph {

Attribute read_attribute(const onnx::AttributeProto& from);

/// Value of a Constant node from whichever of its attributes is there.
/// @throws Error(kInvalidModel) when none is.
StaticSource constant_value(const onnx::NodeProto& node, std::span<const StoredBytes> stored);

}  // namespace bitsweep::graph
