#pragma once

#include <vector>

#include "bitsweep/mix.h"

namespace bitsweep::allocate {

/// How much of the difference between two configurations is chance of the samples: variance of the
/// logarithm of a loss against the mean of all, by leaving out one sample after the other; the
/// median over the configurations.
double chance_of(const std::vector<MeasuredMix>& measured);

}  // namespace bitsweep::allocate
