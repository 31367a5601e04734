#pragma once

#include <optional>
#include <string>

#include "bitsweep/allocation.h"
#include "bitsweep/quantizer.h"
#include "bitsweep/simulation.h"

namespace bitsweep::allocate {

/// What a granularity means for one weight; `present` where its operator knows no such axes (a bias
/// has no blocks) or the block size does not divide it.
Granularity granularity_of(const WeightGranularity& granularity, const Quantizer& weight,
                           const Granularity& present);

/// Why a group cannot have a granularity: none of its weights takes it, or the block size does not
/// divide one; nullopt when it can.
std::optional<std::string> misfit(const Simulation& simulation, const QuantizerGroup& group,
                                  const WeightGranularity& granularity);

/// Bits of all scales, and zero points where there are some, of a weight in a format and a
/// granularity.
double scale_bits(const Quantizer& weight, const Format& format, const Granularity& granularity);

}  // namespace bitsweep::allocate
