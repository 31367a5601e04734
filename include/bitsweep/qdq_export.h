#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bitsweep/encodings_file.h"
#include "bitsweep/export.h"
#include "bitsweep/model.h"
#include "bitsweep/simulation.h"

namespace BITSWEEP_EXPORT bitsweep {

/// How a simulation is written as a QDQ model.
struct QdqOptions {
  /// Stores weights as integers with a DequantizeLinear. Otherwise they are stored as floats that
  /// lie on their grid, with a QuantizeLinear and a DequantizeLinear.
  bool integer_weights = false;
  /// Biases as int32 with scale = input scale * weight scale, raised where one would not fit.
  bool int32_bias = false;
  /// int32 biases that were read from an encodings file, whatever int32_bias says.
  bool loaded_bias = false;
  /// Parameters of more than 8 bits keep the values of the model, not those that were simulated,
  /// and constants the sign of their codes, whatever activation_sign says: for encodings that are
  /// written down without a simulation.
  bool keep_constants = false;
  /// Writes half activations as a Cast and one back. The reference leaves them in float, which is
  /// not what was simulated.
  bool half_casts = true;
  /// Stores codes of 2 bits as int2 and uint2 of operator set 25, which ONNX Runtime 1.32 opens
  /// without optimizations only; but not matrices with sides that are no multiple of 4, whose
  /// products it gets wrong. Otherwise they lie in int4 and uint4.
  bool two_bit_types = false;
  /// LPBQ as multiples of a scale per channel, which the runtime multiplies in float32: less bytes,
  /// and steps that may be the neighbours of those that were simulated. Otherwise as the scales of
  /// its blocks.
  bool lpbq_multiples = false;
  /// Scales of float16 tensors in float16 (opset 19), as the reference has them: no casts, but
  /// other steps than those that were simulated.
  bool half_scales = false;
  ActivationSign activation_sign = ActivationSign::kUnsigned;  ///< of the codes of activations
  /// What the model is for: "onnx" (whatever the format says), "ort_cpu", "tensorrt" or "qnn_htp".
  std::string profile = "onnx";
};

/// Names of all target profiles.
std::vector<std::string> target_profiles();

/// What a target profile does to a tensor, or why it can't take it.
struct ProfileNote {
  std::string tensor;     ///< its name in the model
  std::string what;       ///< rest of a sentence that begins with the tensor
  bool refused = false;   ///< the model can't be written for this target
  bool repaired = false;  ///< its grid is another one than in the simulation
};

/// What to_onnx_qdq() would change for the target, and the tensors for which it would refuse: all
/// that differs from the simulation on purpose. @throws Error(kInvalidArgument) for an unknown
/// profile.
std::vector<ProfileNote> profile_notes(const Simulation& simulation, const QdqOptions& options);

/// The model with QuantizeLinear and DequantizeLinear for every enabled quantizer: what was
/// simulated, up to the rounding of exact half steps. All tensors keep their names, inputs and
/// outputs too. Readers of a shared bias get copies where their scales differ. For float16 and
/// bfloat16 constants are stored rounded, activations cast there and back. Half tensors are cast to
/// float32 in front of their pair and back behind it, as they are simulated. The operator set is
/// raised to 13 (per channel, bfloat16), 19 (8-bit floats), 21 (4 and 16 bits, blocks) or 25 (2
/// bits as such) when it is lower. Widths between 4, 8 and 16 bits are carried by the next wider
/// type.
/// @throws Error(kNotReady) for an enabled quantizer without encoding; Error(kInvalidArgument) for
/// widths above 16 bits and tensors that the profile refuses; Error(kInvalidModel) when an operator
/// would change its meaning in the needed operator set.
Model to_onnx_qdq(const Simulation& simulation, const QdqOptions& options = {});

/// The QDQ model of an encodings file, whatever rules its simulation had: pairs at the tensors that
/// it names. `simulation_options` gives libraries; its rules and formats have no effect.
/// @throws Error as load_encodings() and to_onnx_qdq() do.
Model encodings_to_onnx_qdq(const Model& model, const std::filesystem::path& file,
                            QdqOptions options = {}, SimulationOptions simulation_options = {});

/// The simulation of a QDQ model, whoever wrote it: the float model inside, with quantizers where
/// the pairs were. They are frozen; the others are off. Scales of LPBQ come back as those of
/// blocks. `options` gives rules and libraries; its formats have no effect.
/// @throws Error(kInvalidModel) naming the node or tensor that does not map to a quantizer.
Simulation from_onnx_qdq(const Model& model, SimulationOptions options = {});

}  // namespace BITSWEEP_EXPORT bitsweep
