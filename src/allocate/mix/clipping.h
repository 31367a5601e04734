#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bitsweep/sample_source.h"
#include "bitsweep/simulation.h"

namespace bitsweep::allocate {

/// A tensor with values beyond the range of its quantizer.
struct Clipping {
  std::string tensor;
  double share = 0.0;  ///< of its values
};

/// Of these activations the one that is clipped most, as its quantizer is set now and on these
/// samples of the float model; nothing when clipping is the lesser part of every one's error, for
/// then a wider range would make it worse.
std::optional<Clipping> worst_clipping(Simulation& simulation,
                                       const std::vector<std::string>& activations,
                                       SampleSource& samples);

}  // namespace bitsweep::allocate
