#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>

#include "analyze_output.h"
#include "bitsweep/error.h"
#include "bitsweep/layer_error.h"
#include "bitsweep/passes.h"
#include "bitsweep/sweep.h"
#include "calibrate.h"
#include "commands.h"
#include "help.h"
#include "interrupt.h"
#include "next_command.h"
#include "options.h"
#include "sweep_output.h"
#include "words.h"

namespace bitsweep::cli {
namespace {

struct Arguments {
  ModelArguments model;
  DataArguments data;
  std::string metric = "sqnr";
  OutputArguments outputs;
  std::string max_memory;
  std::string progress = "auto";
  std::string output_folder;
};

/// Runs sweeps that share everything but their groups and mode.
class Analyzer {
 public:
  Analyzer(const Arguments& arguments, Simulation& simulation, SampleSource& samples,
           ProgressReporter& reporter)
      : arguments_(arguments), simulation_(simulation), samples_(samples), reporter_(reporter) {}

  Analysis analyze() {
    Analysis found;
    found.metric = find_metric(arguments_.metric);
    found.facts = {{"model", arguments_.model.model},
                   {"data", arguments_.data.data},
                   {"bits", arguments_.model.bits},
                   {"scheme", arguments_.model.scheme},
                   {"rules", arguments_.model.rules}};
    if (const std::vector<std::string>& names = arguments_.outputs.names; !names.empty())
      found.facts.emplace_back("outputs", fmt::format("{}", fmt::join(names, ", ")));
    const std::vector<SweepGroup> layers = group_by_layer(simulation_);
    if (layers.empty()) {
      throw Error(ErrorCode::kInvalidModel, "analyze",
                  arguments_.model.model + " has nothing to quantize under the rules \"" +
                      arguments_.model.rules + "\"",
                  "see why with `bitsweep inspect`, or choose other --rules");
    }
    const std::vector<SweepGroup> parts = whole_groups();
    const SweepResult whole = run("whole model", parts, SweepMode::kEnableOne);
    found.float_score = whole.float_score;
    found.whole = in_order(whole, parts);
    const SweepResult alone = run("layers alone", layers, SweepMode::kEnableOne);
    found.alone = in_order(alone, layers);
    for (const SweepScore& row : alone.scores) found.ranking.push_back(row.name);
    found.all_others = in_order(run("all but one layer", layers, SweepMode::kDisableOne), layers);
    found.mse = errors();
    return found;
  }

 private:
  std::vector<SweepGroup> whole_groups() const {
    const auto names = [&](const QuantizerFilter& filter) {
      std::vector<std::string> list;
      for (const SweepGroup& g : group_by_quantizer(simulation_, filter))
        list.push_back(g.tensors.front());
      return list;
    };
    std::vector<SweepGroup> groups;
    const std::vector<std::pair<std::string, QuantizerFilter>> parts{
        {"weights", {.activations = false, .patterns = {}}},
        {"activations", {.parameters = false, .patterns = {}}},
        {"all", {}}};
    for (const auto& [name, filter] : parts) {
      std::vector<std::string> tensors = names(filter);
      if (!tensors.empty()) groups.push_back({name, std::move(tensors)});
    }
    return groups;
  }

  /// Scores in the order of the groups.
  static Values in_order(const SweepResult& result, const std::vector<SweepGroup>& groups) {
    std::map<std::string, double> by_name;
    for (const SweepScore& row : result.scores) by_name[row.name] = row.score;
    Values values;
    for (const SweepGroup& group : groups) values.emplace_back(group.name, by_name.at(group.name));
    return values;
  }

  SweepResult run(const char* phase, const std::vector<SweepGroup>& groups, SweepMode mode) {
    SweepOptions options;
    options.metric = arguments_.metric;
    options.metric_options.outputs = arguments_.outputs.positions(simulation_.model());
    options.mode = mode;
    options.num_threads = arguments_.model.num_threads;
    options.run_directory = arguments_.output_folder;
    if (!arguments_.max_memory.empty())
      options.max_memory_bytes = parse_size(arguments_.max_memory);
    reporter_.begin(phase, "evaluations", find_metric(options.metric).unit);
    options.progress = [this](const SweepProgress& progress) {
      reporter_.update(progress);
      return interrupted();
    };
    samples_.rewind();
    SweepResult result = sweep(simulation_, samples_, groups, options);
    reporter_.end();
    for (const std::string& text : result.notes) note(text);
    if (!result.complete) stop();
    return result;
  }

  Values errors() {
    reporter_.begin("error of layers", "samples", "");
    SweepProgress progress;
    progress.total = samples_.size();
    samples_.rewind();
    const auto start = std::chrono::steady_clock::now();
    Values values;
    for (const LayerError& row : layer_errors(simulation_, samples_, -1, [&](std::int64_t done) {
           progress.done = done;
           progress.elapsed_s =
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
           reporter_.update(progress);
           if (interrupted()) stop();
           return false;
         })) {
      values.emplace_back(row.layer, row.mse);
    }
    reporter_.end();
    return values;
  }

  [[noreturn]] void stop() {
    reporter_.end();
    throw Error(ErrorCode::kCancelled, "analyze",
                "interrupted; the same command continues with what was scored", "");
  }

  const Arguments& arguments_;
  Simulation& simulation_;
  SampleSource& samples_;
  ProgressReporter& reporter_;
};

/// Without batch norms, as what runs on integer hardware; a policy belongs to the model as it is.
Model prepared(const Arguments& arguments) {
  Model model = Model::load(arguments.model.model);
  if (!arguments.model.policy.empty()) return model;
  FoldBatchNormsResult result = fold_batch_norms(model);
  if (result.folded.empty()) return model;
  note(fmt::format("{} folded into the layers before or behind",
                   plural(static_cast<std::int64_t>(result.folded.size()), "batch norm")));
  return std::move(result.model);
}

int run_analyze(const Arguments& arguments) {
  catch_interrupts();
  find_metric(arguments.metric);
  const SimulationOptions options = arguments.model.simulation_options();
  ProgressReporter reporter(parse_progress_style(arguments.progress), stderr);
  const Model model = prepared(arguments);
  arguments.outputs.positions(model);  // a wrong name shows before the work starts
  const auto samples = open_data_for({arguments.metric}, arguments.data, model);
  const auto calibration_samples = open_calibration_data(arguments.data, model);
  prepare_output_folder(arguments.output_folder);
  Simulation simulation(model, options);
  arguments.model.apply_to(simulation);
  calibrate(simulation, *calibration_samples, reporter);
  const Analysis found = Analyzer(arguments, simulation, *samples, reporter).analyze();
  const std::string next = next_mix({.model = arguments.model.model,
                                     .data = arguments.data.data,
                                     .calibration_data = arguments.data.calibration_data,
                                     .outputs = arguments.outputs.names,
                                     .rules = arguments.model.rules});
  write_analysis(arguments.output_folder, simulation, found, next);
  fmt::print("{}", analysis_text(found));
  fmt::print("saved   {}, and the pages that it links\n",
             (std::filesystem::path(arguments.output_folder) / "index.html").string());
  fmt::print("next    {}\n", next);
  return 0;
}

}  // namespace

void add_analyze_command(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand(
      "analyze",
      "where a model loses quality: each layer alone, all but each layer, ranges, histograms and "
      "errors, as QuantAnalyzer of aimet_onnx");
  const auto arguments = std::make_shared<Arguments>();
  arguments->model.scheme = "tf_enhanced";  // as the reference; min_max keeps no histograms
  arguments->model.add_to(command);
  arguments->data.add_to(command);
  arguments->data.add_calibration_to(command);
  arguments->data.add_labels_to(command);
  begin_options(command, "Analysis and results");
  command
      ->add_option("--metric", arguments->metric,
                   "how outputs are compared; `bitsweep metrics` lists them")
      ->capture_default_str()
      ->type_name("NAME");
  arguments->outputs.add_to(command);
  command
      ->add_option(
          "--max-memory", arguments->max_memory,
          "for sessions and kept activations, e.g. 2GB; half of the machine when not given")
      ->type_name("SIZE");
  add_progress_option(command, &arguments->progress);
  command
      ->add_option("-o,--output", arguments->output_folder,
                   "folder for the pages and JSON files; an analysis that was stopped continues "
                   "there")
      ->required()
      ->type_name("DIR");
  command->callback(
      [action, arguments] { *action = [arguments] { return run_analyze(*arguments); }; });
}

}  // namespace bitsweep::cli
