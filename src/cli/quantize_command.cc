#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bitsweep/qdq_export.h"
#include "bitsweep/verify.h"
#include "calibrate.h"
#include "commands.h"
#include "export_options.h"
#include "interrupt.h"
#include "options.h"
#include "verify_output.h"

namespace bitsweep::cli {
namespace {

struct Arguments {
  ModelArguments model;
  DataArguments data;
  QdqArguments qdq;
  std::string encodings;
  std::string output;
  std::string progress = "auto";
  bool json = false;
};

int quantize(const Arguments& arguments) {
  catch_interrupts();
  const SimulationOptions simulation_options = arguments.model.simulation_options();
  const SaveOptions save = arguments.qdq.weights_file.options();
  ProgressReporter reporter(parse_progress_style(arguments.progress), stderr);
  const Model model = Model::load(arguments.model.model);
  const auto samples = open_data(arguments.data, model);
  Simulation simulation(model, simulation_options);
  arguments.model.apply_to(simulation);
  if (arguments.encodings.empty()) {
    calibrate(simulation, *open_calibration_data(arguments.data, model), reporter);
  } else {
    load_encodings(simulation, arguments.encodings, {.strict = false});
  }
  QdqOptions options = arguments.qdq.options();
  options.loaded_bias = !arguments.encodings.empty();
  const std::vector<ProfileNote> notes = profile_notes(simulation, options);
  for (const ProfileNote& n : notes) note(fmt::format("\"{}\" {}", n.tensor, n.what));
  to_onnx_qdq(simulation, options).save(arguments.output, save);
  if (!arguments.json) fmt::print("written  {}\n", arguments.output);
  if (arguments.qdq.no_verify) return 0;
  // Where the target asked for other grids, the file is no more what was simulated: then it has to
  // agree with the simulation that is read back from it.
  const bool repaired =
      std::any_of(notes.begin(), notes.end(), [](const ProfileNote& n) { return n.repaired; });
  const VerifyResult result =
      repaired ? verify(arguments.model.model, arguments.output, *samples, simulation_options)
               : verify(simulation, arguments.output, *samples);
  fmt::print("{}", arguments.json ? verify_json(result) : verify_text(result));
  return result.passed ? 0 : 1;
}

}  // namespace

void add_quantize_command(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand(
      "quantize", "calibrate a model and write it with QuantizeLinear and DequantizeLinear");
  const auto arguments = std::make_shared<Arguments>();
  arguments->model.add_to(command);
  arguments->data.add_to(command);
  arguments->data.add_calibration_to(command);
  arguments->qdq.add_to(command);
  command
      ->add_option("--encodings", arguments->encodings,
                   "encodings file to take instead of calibrating")
      ->type_name("FILE");
  command->add_option("-o,--out", arguments->output, "the model to write")
      ->required()
      ->type_name("FILE");
  add_progress_option(command, &arguments->progress);
  add_json_flag(command, &arguments->json);
  command->callback(
      [action, arguments] { *action = [arguments] { return quantize(*arguments); }; });
}

}  // namespace bitsweep::cli
