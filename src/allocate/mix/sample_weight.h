#pragma once

#include <span>

namespace bitsweep::allocate {

/// How much a sample counts, by what each choice of each group loses on it: one over their
/// geometric mean, so that every sample has the same say.
///
/// Some networks lose a million times as much on one sample as on another: where a softmax is
/// undecided, say. That factor is common to all choices and decides nothing, but in a plain sum one
/// or two samples would decide everything, by chance. Where samples lose alike nothing changes.
double sample_weight(std::span<const double> losses);

}  // namespace bitsweep::allocate
