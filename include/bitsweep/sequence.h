#pragma once

#include <span>
#include <vector>

#include "bitsweep/export.h"
#include "bitsweep/tensor.h"

namespace BITSWEEP_EXPORT bitsweep {

/// Inputs and outputs of some models are sequences of tensors, which the library only passes on: a
/// Tensor of undefined type and without bytes, whose buffer holds the elements. (An optional output
/// without a value is an undefined Tensor without elements.)
Tensor make_sequence(std::vector<Tensor> elements);

bool is_sequence(const Tensor& value);

/// Elements of a sequence; none of anything else.
std::span<const Tensor> elements_of(const Tensor& value);

/// The same values in buffers of their own, of a tensor or a sequence.
Tensor deep_copy(const Tensor& value);

}  // namespace BITSWEEP_EXPORT bitsweep
