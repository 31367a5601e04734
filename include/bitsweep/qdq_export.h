#pragma once

#include "bitsweep/encodings_file.h"
#include "bitsweep/export.h"
#include "bitsweep/model.h"
#include "bitsweep/simulation.h"

namespace BITSWEEP_EXPORT bitsweep {

struct QdqOptions {
  /// Stores weights as integers with a DequantizeLinear. Otherwise they are stored as floats that
  /// lie on their grid, with a QuantizeLinear and a DequantizeLinear.
  bool integer_weights = false;
  bool int32_bias = false;  ///< biases as int32 with scale = input scale * weight scale
  bool loaded_bias =
      false;  ///< int32 biases that were read from an encodings file, whatever int32_bias says
  ActivationSign activation_sign = ActivationSign::kUnsigned;
};

/// The model with QuantizeLinear and DequantizeLinear for every enabled quantizer: what was
/// simulated, up to the rounding of exact half steps. All tensors keep their names, inputs and
/// outputs too. float16 quantizers have no such form: their
/// weights are stored rounded, their activations stay in float. The operator set is raised
/// to 13 (per channel), 19 (8-bit floats, half tensors) or 21 (4 and 16 bits, blocks) when it is
/// lower.
/// @throws Error(kNotReady) for an enabled quantizer without encoding; Error(kInvalidArgument) for
/// widths other than 4, 8 and 16 bits; Error(kInvalidModel) when an operator would change its
/// meaning in the needed operator set.
Model to_onnx_qdq(const Simulation& simulation, const QdqOptions& options = {});

}  // namespace BITSWEEP_EXPORT bitsweep
