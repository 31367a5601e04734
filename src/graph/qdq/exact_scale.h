#pragma once

#include <string>
#include <vector>

#include "onnx-ml.pb.h"

namespace bitsweep::graph {

// A model holds the channel scales of LPBQ in float32, and its runtime multiplies them there; they
// are simulated in double, and a product may round to the neighbour. A note in the metadata keeps
// them.

/// Notes the scales that the tensor `scale` was multiplied from.
void note_exact_scale(onnx::ModelProto& model, const std::string& scale,
                      const std::vector<double>& values);

/// The noted scales, when each of them rounds to what the model holds; else those of the model.
std::vector<double> exact_scale(const onnx::ModelProto& model, const std::string& scale,
                                const std::vector<float>& stored);

/// Removes all such notes.
void drop_exact_scales(onnx::ModelProto& model);

}  // namespace bitsweep::graph
