#pragma once

#include <vector>

#include "allocate/mix/encoding_bank.h"
#include "bitsweep/mix.h"

namespace bitsweep::allocate {

/// What can be wrong with the checks a caller asked for, before hours of work.
/// @throws Error(kInvalidArgument): unknown metrics, no test samples, labels that are missing.
void require_checks(SampleSource* test, const MixOptions& options);

/// The checks of the simulation as it is set now; the float model is checked with it where a check
/// says how good it is by itself.
std::vector<MixCheck> final_checks(Simulation& simulation, SampleSource* test,
                                   const MixOptions& options, const Tick& tick);

}  // namespace bitsweep::allocate
