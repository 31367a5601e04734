#pragma once

#include <vector>

#include "bitsweep/tensor.h"

namespace bitsweep::allocate {

/// Changes of the outputs of one state on one sample, as numbers one after the other, for a
/// journal: for each output its squared change, how many numbers follow, and the change itself,
/// folded when long. A single NaN when the outputs are not finite.
using OutputChange = std::vector<double>;

/// What the state changed; outputs that are not floating point count as unchanged.
OutputChange change_of(const std::vector<Tensor>& outputs, const std::vector<Tensor>& reference);

bool is_finite(const OutputChange& change);

/// Squared change with each output in units of its weight; appends the change itself to `values`.
double weighted(const OutputChange& change, const std::vector<double>& weights,
                std::vector<float>* values);

}  // namespace bitsweep::allocate
