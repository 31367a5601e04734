#pragma once

#include <cstdint>

#include "onnx-ml.pb.h"

namespace bitsweep::graph {

/// Raises the default operator set of a model to `target` (at most 21) where every operator, those
/// of bodies included, keeps its meaning: unchanged ones, and those with a provable rewrite (axes
/// of Reduce* become an input, Split gets num_outputs, GridSample its new mode names). IR version
/// is raised along.
/// @throws Error(kInvalidModel) naming the operator that stands in the way.
void raise_opset(onnx::ModelProto& model, std::int64_t target);

}  // namespace bitsweep::graph
