#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "bitsweep/encodings_file.h"
#include "calibrate.h"
#include "commands.h"
#include "export_options.h"
#include "help.h"
#include "interrupt.h"
#include "options.h"

namespace bitsweep::cli {
namespace {

struct Arguments {
  ModelArguments model;
  DataArguments data;
  std::string folder;
  std::string prefix;
  std::string version = "1.0.0";
  std::string activations = "unsigned";
  WeightsFileArgument weights_file;
  std::string progress = "auto";
  bool no_model = false;
};

int run(const Arguments& arguments) {
  catch_interrupts();
  const SimulationOptions simulation_options = arguments.model.simulation_options();
  ExportOptions options;
  options.encodings.version = arguments.version;
  options.model = !arguments.no_model;
  options.save = arguments.weights_file.options();
  if (arguments.activations == "signed")
    options.encodings.activation_sign = ActivationSign::kSigned;
  ProgressReporter reporter(parse_progress_style(arguments.progress), stderr);
  const Model model = Model::load(arguments.model.model);
  const auto samples = open_data(arguments.data, model);
  Simulation simulation(model, simulation_options);
  arguments.model.apply_to(simulation);
  calibrate(simulation, *samples, reporter);
  const std::string prefix = arguments.prefix.empty()
                                 ? std::filesystem::path(arguments.model.model).stem().string()
                                 : arguments.prefix;
  export_simulation(simulation, arguments.folder, prefix, options);
  for (const EncodingsLoss& loss : encodings_losses(simulation, options.encodings)) {
    if (loss.changes_values) note(fmt::format("\"{}\" {}", loss.tensor, loss.what));
  }
  const std::filesystem::path base = std::filesystem::path(arguments.folder) / prefix;
  fmt::print("written  {}.encodings\n", base.string());
  if (options.model) fmt::print("written  {}.onnx\n", base.string());
  return 0;
}

}  // namespace

void add_export_command(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand(
      "export", "calibrate a model and write an encodings file beside the float model");
  const auto arguments = std::make_shared<Arguments>();
  arguments->model.add_to(command);
  arguments->data.add_to(command);
  begin_options(command, "Files to write");
  command->add_option("-o,--output", arguments->folder, "existing folder for the files")
      ->required()
      ->type_name("DIR");
  command
      ->add_option("--prefix", arguments->prefix,
                   "name of the files; that of the model when not given")
      ->type_name("NAME");
  take_one_of(command->add_option("--encodings-version", arguments->version, "of the file's form")
                  ->capture_default_str(),
              {"0.6.1", "1.0.0", "2.0.0"});
  take_one_of(command
                  ->add_option("--activations", arguments->activations,
                               "sign of the codes in version 2.0.0")
                  ->capture_default_str(),
              {"unsigned", "signed"});
  arguments->weights_file.add_to(command);
  add_progress_option(command, &arguments->progress);
  command->add_flag("--no-model", arguments->no_model, "write the encodings only");
  command->callback([action, arguments] { *action = [arguments] { return run(*arguments); }; });
}

}  // namespace bitsweep::cli
