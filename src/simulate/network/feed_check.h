#pragma once

#include "bitsweep/model.h"
#include "bitsweep/tensor.h"

namespace bitsweep::simulate {

/// Checks a sample against the model's inputs: names, element types, ranks and fixed dimensions.
/// @throws Error(kInvalidData) that names the input, what was wanted and what came.
void check_feed(const Model& model, const Feed& feed);

}  // namespace bitsweep::simulate
