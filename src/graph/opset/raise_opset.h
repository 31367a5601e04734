#pragma once

#include <cstdint>

#include "graph/opset/opset_steps.h"
#include "onnx-ml.pb.h"

namespace bitsweep::graph {

/// Raises the default operator set of a model (7 or later) to `target` (at most 25), rewriting the
/// operators that are said in another way there, those of bodies included: attributes that became
/// inputs, Softmax over several axes, Upsample. IR version is raised along. Ranks that `facts`
/// does not know are taken as unknown, types as float32.
/// @throws Error(kInvalidModel) naming the operator that stands in the way.
void raise_opset(onnx::ModelProto& model, std::int64_t target, const TensorFacts& facts);

}  // namespace bitsweep::graph
