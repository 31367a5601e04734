#include "export_options.h"

#include <CLI/CLI.hpp>
#include <map>

#include "help.h"
#include "words.h"

namespace bitsweep::cli {

namespace {

const std::map<std::string, ExternalData>& external_data_choices() {
  static const std::map<std::string, ExternalData> choices = {{"always", ExternalData::kAlways},
                                                              {"auto", ExternalData::kAuto},
                                                              {"never", ExternalData::kNever}};
  return choices;
}

}  // namespace

void WeightsFileArgument::add_to(CLI::App* command) {
  take_one_of(command
                  ->add_option("--external-data", external_data,
                               "weights in a file beside the model; auto: above --inline-limit")
                  ->capture_default_str(),
              {"auto", "always", "never"});
  command
      ->add_option(
          "--inline-limit", inline_limit,
          "up to where auto keeps weights in the model, such as 500MB; 1 GiB when not given")
      ->type_name("SIZE");
}

SaveOptions WeightsFileArgument::options() const {
  SaveOptions save{.external_data = external_data_choices().at(external_data)};
  if (!inline_limit.empty()) save.inline_limit_bytes = parse_size(inline_limit);
  return save;
}

void QdqArguments::add_to(CLI::App* command) {
  begin_options(command, "Model to write, and its check");
  take_one_of(
      command->add_option("--weights", weights, "stored as integers, or as floats on their grid")
          ->capture_default_str(),
      {"integer", "float"});
  take_one_of(command->add_option("--activations", activations, "sign of the codes of activations")
                  ->capture_default_str(),
              {"unsigned", "signed"});
  take_one_of(
      command->add_option("--target", target, "what the model is for")->capture_default_str(),
      target_profiles());
  weights_file.add_to(command);
  command->add_flag("--no-int32-bias", no_int32_bias, "leave biases in float");
  command->add_flag(
      "--two-bit-types", two_bit_types,
      "store codes of 2 bits as int2 of opset 25, for runtimes that know it; else in 4 bits");
  command->add_flag("--no-verify", no_verify, "do not run the written model");
}

QdqOptions QdqArguments::options() const {
  return {.integer_weights = weights == "integer",
          .int32_bias = !no_int32_bias,
          .two_bit_types = two_bit_types,
          .activation_sign =
              activations == "signed" ? ActivationSign::kSigned : ActivationSign::kUnsigned,
          .profile = target};
}

}  // namespace bitsweep::cli
