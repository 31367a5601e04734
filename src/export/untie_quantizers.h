#pragma once

#include "bitsweep/simulation.h"

namespace bitsweep::exporting {

/// Gives each tensor a quantizer of its own, set like the one it shared; no encodings go along.
void untie_quantizers(Simulation& simulation);

}  // namespace bitsweep::exporting
