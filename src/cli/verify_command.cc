#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "bitsweep/verify.h"
#include "calibrate.h"
#include "commands.h"
#include "help.h"
#include "options.h"
#include "verify_output.h"

namespace bitsweep::cli {
namespace {

struct Arguments {
  std::string float_model;
  std::string qdq_model;
  DataArguments data;
  std::string rules = "default";
  std::string ort_library;
  std::vector<std::string> custom_op_libraries;
  double max_steps = 1.0;
  bool json = false;
};

int run(const Arguments& arguments) {
  SimulationOptions simulation;
  simulation.rules = arguments.rules;
  simulation.ort_library = arguments.ort_library;
  for (const std::string& library : arguments.custom_op_libraries)
    simulation.custom_op_libraries.emplace_back(library);
  const auto samples = open_data(arguments.data, Model::load(arguments.float_model));
  VerifyOptions options;
  options.max_steps = arguments.max_steps;
  const VerifyResult result =
      verify(arguments.float_model, arguments.qdq_model, *samples, simulation, options);
  fmt::print("{}", arguments.json ? verify_json(result) : verify_text(result));
  return result.passed ? 0 : 1;
}

}  // namespace

void add_verify_command(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand(
      "verify", "run a QDQ model and compare it with its float model and its simulation");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("float", arguments->float_model, "the float model")
      ->required()
      ->type_name("FLOAT");
  command->add_option("qdq", arguments->qdq_model, "the QDQ model")->required()->type_name("QDQ");
  arguments->data.add_to(command);
  begin_options(command, "Check");
  command
      ->add_option("--rules", arguments->rules,
                   "rules that know the quantized tensors: name or JSON file")
      ->capture_default_str()
      ->type_name("NAME|FILE");
  take_numbers(command
                   ->add_option("--max-steps", arguments->max_steps,
                                "steps by which an output may differ from the simulation")
                   ->capture_default_str(),
               "N", {.least = 0.0});
  command
      ->add_option("--ort-lib", arguments->ort_library,
                   "the ONNX Runtime library to open; searched when not given")
      ->type_name("FILE");
  command
      ->add_option("--custom-op-library", arguments->custom_op_libraries,
                   "library with operators that the model needs; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  add_json_flag(command, &arguments->json);
  command->callback([action, arguments] { *action = [arguments] { return run(*arguments); }; });
}

}  // namespace bitsweep::cli
