#include "bitsweep/encodings_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

#include "bitsweep/error.h"
#include "export/aside_file.h"
#include "export/collect_entries.h"
#include "export/load_entries.h"
#include "export/losses.h"
#include "export/ort_overrides.h"
#include "export/write_entries.h"
#include "graph/file/save_model.h"
#include "graph/placement/rules_file.h"
#include "simulate/engine.h"
#include "simulate/network/network.h"

namespace bitsweep {
namespace {

std::string scheme_text(Scheme scheme) {
  switch (scheme) {
    case Scheme::kTfEnhanced:
      return "post_training_tf_enhanced";
    case Scheme::kPercentile:
      return "post_training_percentile";
    default:
      return std::string(scheme_name(scheme));
  }
}

exporting::QuantizerArgs quantizer_args(const Simulation& simulation) {
  const SimulationOptions& options = simulation.options();
  const graph::Rules& rules = *simulation.engine().network().placement().rules;
  bool per_channel = rules.defaults.per_channel.value_or(false);
  for (const auto& [type, rule] : rules.op_types)
    per_channel = per_channel || rule.per_channel.value_or(false);
  return {.scheme = scheme_text(options.scheme),
          .parameter_format = options.parameter_format,
          .activation_format = options.activation_format,
          .symmetric = rules.default_parameters.is_symmetric.value_or(per_channel),
          .per_channel = per_channel};
}

std::vector<exporting::FileEntry> entries_of(const Simulation& simulation,
                                             const EncodingsFileOptions& options) {
  const bool new_form = options.version == "2.0.0";
  return exporting::collect_entries(simulation,
                                    {.int32_bias = options.int32_bias.value_or(new_form),
                                     .derived = new_form,
                                     .activation_sign = options.activation_sign});
}

void check_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw Error(ErrorCode::kNotFound, "export",
                fmt::format("there is no folder \"{}\"", folder.string()), "create it first");
  }
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    throw Error(ErrorCode::kIo, "export",
                fmt::format("the folder \"{}\" is not writable", folder.string()),
                "choose a folder that you may write to");
  }
}

void check_prefix(const std::string& prefix) {
  if (prefix.empty() || prefix.find('/') != std::string::npos ||
      prefix.find('\0') != std::string::npos) {
    // A text of an error ends at a zero byte.
    throw Error(ErrorCode::kInvalidArgument, "export",
                fmt::format("\"{}\" is no prefix of file names", prefix.c_str()),
                "give a name without a folder");
  }
}

}  // namespace

std::string encodings_text(const Simulation& simulation, const EncodingsFileOptions& options) {
  return exporting::write_entries(entries_of(simulation, options), quantizer_args(simulation),
                                  options.version);
}

std::vector<EncodingsLoss> encodings_losses(const Simulation& simulation,
                                            const EncodingsFileOptions& options) {
  return exporting::losses(entries_of(simulation, options), options.version);
}

std::string ort_overrides_text(const Simulation& simulation, ActivationSign activation_sign) {
  return exporting::write_ort_overrides(
      exporting::collect_entries(simulation, {.activation_sign = activation_sign}));
}

std::vector<EncodingMismatch> load_ort_overrides(Simulation& simulation, const std::string& text,
                                                 const LoadEncodingsOptions& options) {
  const std::string source = "TensorQuantOverrides";
  return exporting::load_entries(simulation, exporting::read_ort_overrides(text, source), source,
                                 options);
}

void export_simulation(const Simulation& simulation, const std::filesystem::path& folder,
                       const std::string& prefix, const ExportOptions& options) {
  check_prefix(prefix);
  check_folder(folder);
  exporting::AsideFile encodings(folder / (prefix + ".encodings"),
                                 encodings_text(simulation, options.encodings));
  if (options.model) {
    graph::save_model(simulation.model(), folder / (prefix + ".onnx"), options.save,
                      prefix + ".data");
  }
  encodings.commit();
}

}  // namespace bitsweep
