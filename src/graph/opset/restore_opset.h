#pragma once

#include <cstdint>

#include "graph/opset/opset_steps.h"
#include "onnx-ml.pb.h"

namespace bitsweep::graph {

/// Notes in the metadata which operator set a model has before raise_opset() raises it.
void note_source_opset(onnx::ModelProto& model, std::int64_t source);

/// Brings a model with such a note back as far as its nodes can be said in the old way, not below
/// 13, and removes the note. What needed the raised operator set has to be gone. Why: runtimes have
/// other kernels for an operator in a later set, whose sums run in another order (AveragePool from
/// 19 on in ONNX Runtime), and rewrite graphs in another way where axes are inputs.
void restore_opset(onnx::ModelProto& model, const Constants& constants);

}  // namespace bitsweep::graph
