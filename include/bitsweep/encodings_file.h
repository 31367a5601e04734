#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/export.h"
#include "bitsweep/model.h"
#include "bitsweep/simulation.h"

namespace BITSWEEP_EXPORT bitsweep {

/// Sign of the codes of activations in versions 2 and up and in QDQ models. Parameters keep theirs:
/// symmetric is signed, asymmetric unsigned.
enum class ActivationSign { kUnsigned, kSigned, kUnchanged };

/// How an encodings file is written.
struct EncodingsFileOptions {
  /// "0.6.1", "1.0.0" or "2.0.0".
  std::string version = "1.0.0";
  /// Adds int32 encodings of biases: scale = input scale * weight scale. Absent: with version 2.0.0
  /// only.
  std::optional<bool> int32_bias;
  ActivationSign activation_sign = ActivationSign::kUnsigned;  ///< with version 2.0.0
};

/// The encodings of all enabled quantizers as JSON text.
/// @throws Error(kInvalidArgument) for an unknown version, or a tensor whose format the version
/// can't say; Error(kNotReady) when an enabled quantizer has no encoding.
std::string encodings_text(const Simulation& simulation, const EncodingsFileOptions& options = {});

/// What export_simulation() writes.
struct ExportOptions {
  EncodingsFileOptions encodings;
  bool model = true;   ///< writes the float model too
  SaveOptions save{};  ///< of the float model: when its weights go to a file of their own
};

/// Something about a quantizer that a version of the file can't say.
struct EncodingsLoss {
  std::string tensor;
  std::string what;  ///< rest of a sentence that begins with the tensor
  /// Read back, the simulation computes other values; else only settings differ.
  bool changes_values = false;
};

/// What encodings_text() would leave out, by tensor; formats that a version refuses are not here.
std::vector<EncodingsLoss> encodings_losses(const Simulation& simulation,
                                            const EncodingsFileOptions& options = {});

/// Writes `<prefix>.encodings` and, if asked, the float model as `<prefix>.onnx` (weights above 1
/// GiB go to
/// `<prefix>.data`). All is checked first, files are written aside and renamed: nothing
/// half-written stays.
/// @throws what encodings_text() throws; Error(kNotFound | kIo) for a folder that is missing or not
/// writable.
void export_simulation(const Simulation& simulation, const std::filesystem::path& folder,
                       const std::string& prefix, const ExportOptions& options = {});

/// What a file may change in the quantizers.
struct LoadEncodingsOptions {
  /// Any difference between file and settings is an error, and nothing is loaded.
  bool strict = true;
  /// Switches off the quantizers that the file does not name. float16 ones stay with versions 2:
  /// they have no entry.
  bool disable_missing = true;
  /// Takes the encodings of parameters only, and freezes them; implies that others stay as they
  /// are.
  bool freeze_parameters_only = false;
  bool freeze = false;  ///< quantizers of the file keep what they got, whatever is calibrated later
};

/// Settings of one quantizer that the file has in another way: (simulation, file). What is equal is
/// absent.
struct EncodingMismatch {
  std::string tensor;  ///< its name in the model
  std::optional<std::pair<bool, bool>> enabled;
  std::optional<std::pair<std::string, std::string>> format;  ///< "int8", "float16", ...
  std::optional<std::pair<std::string, std::string>>
      granularity;  ///< "PER_TENSOR", "PER_CHANNEL", "PER_BLOCK", "LPBQ"
  std::optional<std::pair<bool, bool>> symmetric;
  std::optional<std::pair<bool, bool>> strict_symmetric;
  std::optional<std::pair<bool, bool>> unsigned_symmetric;
};

/// Reads an encodings file (0.6.1, 1.0.0, 2.0.0, 2.1.0) into the quantizers of a simulation; each
/// takes format, granularity, symmetry and encoding of its entry and becomes enabled. int32 entries
/// of biases are kept for export, their quantizers stay off. After an exception the simulation is
/// as before.
/// @throws Error(kNotFound | kIo): no such file; Error(kInvalidData): not JSON, unknown version,
/// missing fields, wrong lengths, numbers that are not finite, tensors that the model does not have
/// or that have no quantizer, mismatches with `strict`.
std::vector<EncodingMismatch> load_encodings(Simulation& simulation,
                                             const std::filesystem::path& file,
                                             const LoadEncodingsOptions& options = {});

/// The encodings of all enabled quantizers as `TensorQuantOverrides` of ONNX Runtime's quantizer:
/// JSON, tensor -> list of {quant_type, scale, zero_point, axis}, types by name ("QUInt8").
/// @throws Error(kInvalidArgument) for formats that they can't say: blocks, widths other than 4, 8
/// and 16; Error(kNotReady) when an enabled quantizer has no encoding.
std::string ort_overrides_text(const Simulation& simulation,
                               ActivationSign activation_sign = ActivationSign::kUnsigned);

/// Reads such a text into the quantizers, as load_encodings() does.
std::vector<EncodingMismatch> load_ort_overrides(Simulation& simulation, const std::string& text,
                                                 const LoadEncodingsOptions& options = {});

}  // namespace BITSWEEP_EXPORT bitsweep
