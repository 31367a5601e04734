#pragma once

#include <string>

#include "bitsweep/tensor.h"

namespace bitsweep::graph {

/// A serialized model without inputs whose one output, kEmptySequenceOutput, is a sequence of no
/// tensors of this type. The runtime's interface makes sequences of at least one tensor only.
std::string empty_sequence_model(DataType type);

inline constexpr const char* kEmptySequenceOutput = "nothing";

}  // namespace bitsweep::graph
