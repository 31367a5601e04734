#pragma once

#include "bitsweep/encoding.h"

namespace bitsweep {

/// Replaces the step of every block by a multiple of one scale per channel: i * S with S = largest
/// step / 2^scale_bits and i in [1, 2^scale_bits]. Source: spec of the reference, section 3.1
/// (low-power blockwise quantization).
/// @throws Error(kInvalidArgument) when the encoding is not a blockwise integer one.
void apply_lpbq(Encoding& encoding, int scale_bits);

}  // namespace bitsweep
