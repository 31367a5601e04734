#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "bitsweep/error.h"
#include "bitsweep/mix.h"
#include "calibrate.h"
#include "commands.h"
#include "help.h"
#include "interrupt.h"
#include "mix_output.h"
#include "mix_progress.h"
#include "mix_samples.h"
#include "options.h"
#include "sweep_output.h"
#include "words.h"

namespace bitsweep::cli {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  ModelArguments model;
  MixDataArguments data;
  std::vector<std::string> candidates;
  std::vector<std::string> targets;
  std::string cost = "bops";
  OutputArguments outputs;
  std::vector<std::string> pinned;
  std::vector<std::string> same;
  std::string latency_table;
  std::vector<std::string> checks;
  bool all_kernels = false;
  bool apart = false;
  int frontier_points = 12;
  std::vector<double> frontier_costs;
  double tolerance_db = 0.25;
  std::string max_memory;
  std::string progress = "auto";
  std::string output_folder;
};

MixOptions mix_options(const Arguments& arguments) {
  MixOptions options;
  for (const std::string& text : arguments.candidates)
    options.candidates.push_back(parse_mix_candidate(text));
  for (const std::string& text : arguments.targets)
    options.targets.push_back(parse_mix_target(text));
  options.cost = arguments.cost;
  options.ignore_kernels = arguments.all_kernels;
  options.apart = arguments.apart;
  options.latency_table = arguments.latency_table;
  options.check_metrics = arguments.checks;
  options.run_directory = arguments.output_folder;
  options.frontier_points = arguments.frontier_points;
  options.frontier_costs = arguments.frontier_costs;
  options.tolerance_db = arguments.tolerance_db;
  options.num_threads = arguments.model.num_threads;
  if (!arguments.max_memory.empty()) options.max_memory_bytes = parse_size(arguments.max_memory);
  for (const std::string& text : arguments.pinned) {
    const std::size_t sign = text.rfind('=');
    if (sign == std::string::npos || sign == 0) {
      throw Error(ErrorCode::kInvalidArgument, "mix", "\"" + text + "\" pins nothing",
                  "write TENSOR=W8A16");
    }
    options.pinned.emplace_back(text.substr(0, sign), parse_mix_candidate(text.substr(sign + 1)));
  }
  for (const std::string& text : arguments.same) {
    std::vector<std::string>& set = options.same_format.emplace_back();
    std::size_t begin = 0;
    while (begin <= text.size()) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      set.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return options;
}

int run_mix(const Arguments& arguments) {
  catch_interrupts();
  MixOptions options = mix_options(arguments);
  const SimulationOptions simulation_options = arguments.model.simulation_options();
  ProgressReporter reporter(parse_progress_style(arguments.progress), stderr);
  const Model model = Model::load(arguments.model.model);
  options.outputs = arguments.outputs.positions(model);
  const MixSamples samples(arguments.data, model);
  if (!arguments.data.data.labels.empty() || !arguments.data.test_labels.empty())
    require_use_of_labels(arguments.checks);
  const fs::path folder = arguments.output_folder;
  if (fs::exists(folder / "journal.sqlite"))
    note("continuing with what was run in " + folder.string() + " before");
  prepare_output_folder(folder);

  Simulation simulation(model, simulation_options);
  arguments.model.apply_to(simulation);
  MixReporter shown(reporter);
  options.progress = [&](const MixProgress& progress) {
    shown.update(progress);
    return interrupted();
  };
  const MixResult result =
      mix(simulation, *samples.calibration, *samples.search, samples.test, options);
  reporter.end();
  const MixRequest request{.model = arguments.model.model,
                           .data = arguments.data.data.data,
                           .rules = arguments.model.rules,
                           .cost = arguments.cost,
                           .targets = options.targets,
                           .outputs = arguments.outputs.names};
  write_mix(folder, simulation, result, request);
  fmt::print("{}", mix_text(result, request));
  fmt::print("work    {}, {} run for real, {} of samples, {} known before, {}\n",
             plural(static_cast<std::int64_t>(result.groups.size()), "group"),
             plural(result.num_measured, "configuration"), plural(result.num_run, "run"),
             result.num_kept, duration_text(result.elapsed_s));
  fmt::print("{}", saved_text(folder, result, request));
  if (result.infeasible.empty()) return 0;
  std::fflush(stdout);
  const bool is_cost = result.infeasible.starts_with("the minimum of ");
  fmt::print(stderr, "infeasible: {}{}\n", result.infeasible,
             is_cost ? "; allow that much, or add candidates of fewer bits" : "");
  return 1;
}

}  // namespace

void add_mix_command(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand(
      "mix", "choose bit-widths for a cost or a quality, and prove the choice by running it");
  const auto arguments = std::make_shared<Arguments>();
  arguments->model.add_to(command);
  arguments->data.add_to(command);
  begin_options(command, "Choice and results");
  command
      ->add_option("--candidates", arguments->candidates,
                   "types of weights and activations to choose from, such as W8A8,W8A16,W4A8; "
                   "\"float\" leaves a group in float; after @ the granularity of the weights "
                   "(per_tensor, per_channel, block32) and a range estimator (names of --scheme, "
                   "percentile99.9), such as W4A8@block32@mse")
      ->required()
      ->delimiter(',')
      ->type_name("WxAy[@...],...");
  command
      ->add_option(
          "--target", arguments->targets,
          "what must be reached: \"sqnr>=35\", \"bops<=0.6\", \"bytes<=12MB\", \"gbops<=4\", "
          "\"share16<=0.2\", \"peak<=4MB\"; may be repeated; none: only the curve")
      ->delimiter('|')
      ->type_name("TARGET");
  std::vector<std::string> names;
  for (const MixCostInfo& cost : mix_costs()) names.push_back(cost.name);
  take_one_of(
      command->add_option("--cost", arguments->cost, "what is minimised, and the axis of the curve")
          ->capture_default_str(),
      names);
  arguments->outputs.add_to(command);
  command
      ->add_option("--latency-table", arguments->latency_table,
                   "CSV with the times of operators, for the cost latency: "
                   "operator,shape,weights,activations,ms")
      ->type_name("FILE");
  command
      ->add_option("--check", arguments->checks,
                   "a further metric of the choice on the test samples, such as accuracy with "
                   "--labels; may be repeated")
      ->allow_extra_args(false)
      ->type_name("METRIC");
  command->add_option("--pin", arguments->pinned, "TENSOR=WxAy: its group keeps these types")
      ->type_name("TENSOR=WxAy");
  command->add_option("--same", arguments->same, "tensors whose groups get the same types")
      ->type_name("TENSOR,TENSOR,...");
  command->add_flag("--all-kernels", arguments->all_kernels,
                    "ignore the kernels that the rules file lists");
  command->add_flag("--apart", arguments->apart,
                    "decide weights and activations of a group apart, where the kernels allow it");
  take_whole_numbers(command
                         ->add_option("--points", arguments->frontier_points,
                                      "points of the curve, each run for real; 0: no curve")
                         ->capture_default_str(),
                     0, 1000);
  take_numbers(command
                   ->add_option("--points-at", arguments->frontier_costs,
                                "costs, in the unit of --cost: the curve also gets the best "
                                "configuration found within each")
                   ->delimiter(','),
               "COST,...", {.above = 0.0});
  take_numbers(command
                   ->add_option("--tolerance", arguments->tolerance_db,
                                "dB between predicted and measured quality that end the search")
                   ->capture_default_str(),
               "DB", {.above = 0.0});
  command
      ->add_option("--max-memory", arguments->max_memory,
                   "for sessions and boundaries, such as 2GB; default: half of the memory")
      ->type_name("SIZE");
  add_progress_option(command, &arguments->progress);
  command->add_option("-o,--output", arguments->output_folder, "folder for the results")
      ->required()
      ->type_name("DIR");
  command->callback([action, arguments] { *action = [arguments] { return run_mix(*arguments); }; });
}

}  // namespace bitsweep::cli
