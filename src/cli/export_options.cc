#include "export_options.h"

#include <CLI/CLI.hpp>

namespace bitsweep::cli {

void QdqArguments::add_to(CLI::App* command) {
  command->add_option("--weights", weights, "stored as integers, or as floats on their grid")
      ->capture_default_str()
      ->check(CLI::IsMember({"integer", "float"}))
      ->type_name("integer|float");
  command->add_option("--activations", activations, "sign of the codes of activations")
      ->capture_default_str()
      ->check(CLI::IsMember({"unsigned", "signed"}))
      ->type_name("unsigned|signed");
  command
      ->add_option("--target", target, "what the model is for: onnx, ort_cpu, tensorrt or qnn_htp")
      ->capture_default_str()
      ->type_name("NAME");
  command->add_flag("--no-int32-bias", no_int32_bias, "leave biases in float");
  command->add_flag("--no-verify", no_verify, "do not run the written model");
}

QdqOptions QdqArguments::options() const {
  return {.integer_weights = weights == "integer",
          .int32_bias = !no_int32_bias,
          .activation_sign =
              activations == "signed" ? ActivationSign::kSigned : ActivationSign::kUnsigned,
          .profile = target};
}

}  // namespace bitsweep::cli
