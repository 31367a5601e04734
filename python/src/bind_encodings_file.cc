#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "bind.h"
#include "bitsweep/encodings_file.h"
#include "bitsweep/qdq_export.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bitsweep::python {

void bind_encodings_file(nb::module_& m) {
  nb::enum_<ActivationSign>(m, "ActivationSign", "Sign of the codes of activations.")
      .value("UNSIGNED", ActivationSign::kUnsigned)
      .value("SIGNED", ActivationSign::kSigned)
      .value("UNCHANGED", ActivationSign::kUnchanged);

  nb::class_<EncodingMismatch>(
      m, "EncodingMismatch",
      "Settings of one quantizer that a file has in another way: (simulation, file).")
      .def_ro("tensor", &EncodingMismatch::tensor)
      .def_ro("enabled", &EncodingMismatch::enabled)
      .def_ro("format", &EncodingMismatch::format)
      .def_ro("granularity", &EncodingMismatch::granularity)
      .def_ro("symmetric", &EncodingMismatch::symmetric)
      .def_ro("strict_symmetric", &EncodingMismatch::strict_symmetric)
      .def_ro("unsigned_symmetric", &EncodingMismatch::unsigned_symmetric);

  m.def(
      "encodings_text",
      [](const Simulation& simulation, std::string version, std::optional<bool> int32_bias,
         ActivationSign activation_sign) {
        return encodings_text(simulation, {.version = std::move(version),
                                           .int32_bias = int32_bias,
                                           .activation_sign = activation_sign});
      },
      "simulation"_a, "version"_a = "1.0.0", "int32_bias"_a = nb::none(),
      "activation_sign"_a = ActivationSign::kUnsigned,
      "The encodings of all enabled quantizers as JSON text.");

  nb::class_<EncodingsLoss>(m, "EncodingsLoss",
                            "Something about a quantizer that an encodings file can't say.")
      .def_ro("tensor", &EncodingsLoss::tensor)
      .def_ro("what", &EncodingsLoss::what)
      .def_ro("changes_values", &EncodingsLoss::changes_values);

  m.def(
      "encodings_losses",
      [](const Simulation& simulation, std::string version, std::optional<bool> int32_bias,
         ActivationSign activation_sign) {
        return encodings_losses(simulation, {.version = std::move(version),
                                             .int32_bias = int32_bias,
                                             .activation_sign = activation_sign});
      },
      "simulation"_a, "version"_a = "1.0.0", "int32_bias"_a = nb::none(),
      "activation_sign"_a = ActivationSign::kUnsigned,
      "What a version of encodings files would leave out, by tensor.");

  m.def(
      "ort_overrides_text",
      [](const Simulation& simulation, ActivationSign activation_sign) {
        return ort_overrides_text(simulation, activation_sign);
      },
      "simulation"_a, "activation_sign"_a = ActivationSign::kUnsigned,
      "The encodings of all enabled quantizers as TensorQuantOverrides in JSON.");

  m.def(
      "load_ort_overrides",
      [](Simulation& simulation, const std::string& text, bool strict, bool disable_missing) {
        nb::gil_scoped_release release;
        return load_ort_overrides(simulation, text,
                                  {.strict = strict, .disable_missing = disable_missing});
      },
      "simulation"_a, "text"_a, "strict"_a = true, "disable_missing"_a = true,
      "Reads TensorQuantOverrides in JSON into the quantizers.");

  m.def(
      "export_simulation",
      [](const Simulation& simulation, const std::filesystem::path& folder,
         const std::string& prefix, bool model, std::string version, std::optional<bool> int32_bias,
         ActivationSign activation_sign) {
        nb::gil_scoped_release release;
        export_simulation(simulation, folder, prefix,
                          {.encodings = {.version = std::move(version),
                                         .int32_bias = int32_bias,
                                         .activation_sign = activation_sign},
                           .model = model});
      },
      "simulation"_a, "folder"_a, "prefix"_a, "model"_a = true, "version"_a = "1.0.0",
      "int32_bias"_a = nb::none(), "activation_sign"_a = ActivationSign::kUnsigned,
      "Writes the encodings file and the float model.");

  m.def(
      "to_onnx_qdq",
      [](const Simulation& simulation, bool integer_weights, bool int32_bias, bool loaded_bias,
         bool keep_constants, bool half_casts, bool two_bit_types, bool lpbq_multiples,
         bool half_scales, ActivationSign activation_sign, std::string profile) {
        nb::gil_scoped_release release;
        return to_onnx_qdq(simulation, {.integer_weights = integer_weights,
                                        .int32_bias = int32_bias,
                                        .loaded_bias = loaded_bias,
                                        .keep_constants = keep_constants,
                                        .half_casts = half_casts,
                                        .two_bit_types = two_bit_types,
                                        .lpbq_multiples = lpbq_multiples,
                                        .half_scales = half_scales,
                                        .activation_sign = activation_sign,
                                        .profile = std::move(profile)});
      },
      "simulation"_a, "integer_weights"_a = false, "int32_bias"_a = false, "loaded_bias"_a = false,
      "keep_constants"_a = false, "half_casts"_a = true, "two_bit_types"_a = false,
      "lpbq_multiples"_a = false, "half_scales"_a = false,
      "activation_sign"_a = ActivationSign::kUnsigned, "profile"_a = "onnx",
      "The model with QuantizeLinear and DequantizeLinear.");

  m.def(
      "encodings_to_onnx_qdq",
      [](const Model& model, const std::filesystem::path& file, bool integer_weights,
         ActivationSign activation_sign, std::filesystem::path ort_library) {
        nb::gil_scoped_release release;
        return encodings_to_onnx_qdq(model, file,
                                     {.integer_weights = integer_weights,
                                      .keep_constants = true,
                                      .half_casts = false,
                                      .lpbq_multiples = true,
                                      .half_scales = true,
                                      .activation_sign = activation_sign},
                                     {.ort_library = std::move(ort_library)});
      },
      "model"_a, "file"_a, "integer_weights"_a = false,
      "activation_sign"_a = ActivationSign::kUnsigned, "ort_library"_a = std::filesystem::path(),
      "The QDQ model of an encodings file.");

  nb::class_<ProfileNote>(m, "ProfileNote",
                          "What a target profile does to a tensor, or why it can't take it.")
      .def_ro("tensor", &ProfileNote::tensor)
      .def_ro("what", &ProfileNote::what)
      .def_ro("refused", &ProfileNote::refused)
      .def_ro("repaired", &ProfileNote::repaired);

  m.def(
      "profile_notes",
      [](const Simulation& simulation, std::string profile, bool int32_bias, bool two_bit_types,
         ActivationSign activation_sign) {
        return profile_notes(simulation, {.int32_bias = int32_bias,
                                          .two_bit_types = two_bit_types,
                                          .activation_sign = activation_sign,
                                          .profile = std::move(profile)});
      },
      "simulation"_a, "profile"_a, "int32_bias"_a = false, "two_bit_types"_a = false,
      "activation_sign"_a = ActivationSign::kUnsigned,
      "What to_onnx_qdq() changes or refuses for a target.");

  m.def(
      "load_encodings",
      [](Simulation& simulation, const std::filesystem::path& file, bool strict,
         bool disable_missing, bool freeze_parameters_only, bool freeze) {
        nb::gil_scoped_release release;
        return load_encodings(simulation, file,
                              {.strict = strict,
                               .disable_missing = disable_missing,
                               .freeze_parameters_only = freeze_parameters_only,
                               .freeze = freeze});
      },
      "simulation"_a, "file"_a, "strict"_a = true, "disable_missing"_a = true,
      "freeze_parameters_only"_a = false, "freeze"_a = false,
      "Reads an encodings file into the quantizers.");
}

}  // namespace bitsweep::python
