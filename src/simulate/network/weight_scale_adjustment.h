#pragma once

namespace bitsweep::simulate {

class Network;

/// Widens weight scales after a calibration so that an integer kernel can hold bias and accumulator
/// in 32 bits.
///
/// For Conv, ConvTranspose, Gemm and MatMul with integer input and weight encodings; weight deltas
/// become float32 values. Frozen quantizers stay. Source: spec of the reference, quantizers
/// section 6.1.
void adjust_weight_scales(Network& network);

}  // namespace bitsweep::simulate
