#pragma once

#include <string>
#include <vector>

#include "bitsweep/model.h"

namespace bitsweep::graph {

/// What is wrong with a model that holds QuantizeLinear and DequantizeLinear, a sentence for each:
/// nodes out of order or without a name of their own, tensors that two nodes make or nobody makes,
/// types and axes that the operator set does not know, an IR version that is too low for it.
/// Empty: nothing was found. The runtime checks the other operators when it loads the file.
std::vector<std::string> onnx_problems(const Model& model);

}  // namespace bitsweep::graph
