#include <fmt/format.h>
#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <regex>

#include "bitsweep/data.h"
#include "bitsweep/error.h"
#include "bitsweep/names.h"
#include "bitsweep/sweep.h"
#include "calibrate.h"
#include "commands.h"
#include "interrupt.h"
#include "next_command.h"
#include "options.h"
#include "predictions.h"
#include "sweep_output.h"
#include "words.h"

namespace bitsweep::cli {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  ModelArguments model;
  DataArguments data;
  SweepArguments sweep;

  bool groups_by_name() const { return sweep.group != "op" && sweep.group != "quantizer"; }
};

std::string name_of(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return (normal.has_filename() ? normal : normal.parent_path()).filename().string();
}

// " (weights only, named *.weight)".
std::string chosen_part(const SweepArguments& sweep) {
  std::string text = sweep.only.empty() ? "" : sweep.only + " only";
  if (!sweep.patterns.empty())
    text += fmt::format("{}named {}", text.empty() ? "" : ", ", fmt::join(sweep.patterns, " or "));
  return text.empty() ? "" : " (" + text + ")";
}

// Nothing here may differ between runs or machines: the facts are part of results.json.
Facts facts_of(const Arguments& arguments, const Simulation& simulation,
               std::int64_t num_calibration_samples, const SweepResult& result) {
  const std::string calibration =
      arguments.data.calibration_data.empty()
          ? "the same data, " + plural(num_calibration_samples, "sample")
          : name_of(arguments.data.calibration_data) + ", " +
                plural(num_calibration_samples, "sample");
  Facts facts = {
      {"model", name_of(arguments.model.model)},
      {"model sha256", simulation.model().content_hash()},
      {"data", fmt::format("{}, {}{}", name_of(arguments.data.data),
                           plural(result.num_samples, "sample"), result.complete ? "" : " so far")},
      {"calibration", calibration},
      {"bits", arguments.model.bits},
      {"scheme", arguments.model.histogram == "growing" ? arguments.model.scheme + ", growing"
                                                        : arguments.model.scheme},
      {"rules", arguments.model.rules},
      {"group", arguments.sweep.group + chosen_part(arguments.sweep)},
      {"bitsweep", BITSWEEP_VERSION}};
  if (const std::vector<std::string>& names = arguments.sweep.outputs.names; !names.empty())
    facts.emplace_back("outputs", fmt::format("{}", fmt::join(names, ", ")));
  return facts;
}

std::vector<std::string> metrics_of(const SweepOptions& options) {
  std::vector<std::string> names = {options.metric};
  for (const MetricChoice& more : options.more_metrics) names.push_back(more.name);
  return names;
}

std::regex name_pattern(const std::string& pattern) {
  try {
    return std::regex(pattern);
  } catch (const std::regex_error& error) {
    throw Error(ErrorCode::kInvalidArgument, "options",
                "--group " + pattern + " is no regular expression: " + error.what(),
                "write quantizer, op, or an expression such as 'layers\\.([0-9]+)'");
  }
}

/// Quantizers by what the pattern finds in their names: its first group, else all of it. Those
/// without it are left out.
std::vector<SweepGroup> group_by_name(const std::vector<SweepGroup>& quantizers,
                                      const std::string& pattern) {
  const std::regex wanted = name_pattern(pattern);
  std::vector<SweepGroup> groups;
  for (const SweepGroup& single : quantizers) {
    std::smatch found;
    if (!std::regex_search(single.name, found, wanted)) continue;
    const std::string name = found.size() > 1 ? found.str(1) : found.str();
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const SweepGroup& g) { return g.name == name; });
    if (group == groups.end()) group = groups.insert(groups.end(), SweepGroup{name, {}});
    group->tensors.push_back(single.name);
  }
  return groups;
}

/// A pattern that fits nothing is a typo: the sweep would leave out what was meant.
void require_matches(const std::vector<std::string>& patterns,
                     const std::vector<std::string>& names) {
  for (const std::string& pattern : patterns) {
    const bool fits = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    });
    if (fits) continue;
    throw Error(ErrorCode::kInvalidArgument, "sweep",
                "no quantizer is named \"" + pattern + "\" (--include)",
                did_you_mean(pattern, names) + "see the names with `bitsweep inspect`");
  }
}

std::vector<SweepGroup> find_groups(const Simulation& simulation, const Arguments& arguments) {
  require_matches(arguments.sweep.patterns, simulation.tensor_names());
  const QuantizerFilter filter = arguments.sweep.filter();
  std::vector<SweepGroup> groups = arguments.sweep.group == "op"
                                       ? group_by_operator(simulation, filter)
                                       : group_by_quantizer(simulation, filter);
  if (arguments.groups_by_name() && !groups.empty()) {
    groups = group_by_name(groups, arguments.sweep.group);
    if (groups.empty()) {
      throw Error(ErrorCode::kInvalidArgument, "sweep",
                  "no name of a quantizer holds \"" + arguments.sweep.group + "\"",
                  "see the names with `bitsweep inspect`");
    }
  }
  if (groups.empty() && (!arguments.sweep.only.empty() || !arguments.sweep.patterns.empty())) {
    throw Error(ErrorCode::kInvalidArgument, "sweep",
                "no quantizer of " + arguments.model.model + " is chosen by --only and --include",
                "see the names with `bitsweep inspect`");
  }
  if (groups.empty()) {
    throw Error(ErrorCode::kInvalidModel, "sweep",
                arguments.model.model + " has nothing to quantize under the rules \"" +
                    arguments.model.rules + "\"",
                "see why with `bitsweep inspect`, or choose other --rules");
  }
  return groups;
}

SweepResult measure(Simulation& simulation, SampleSource& samples,
                    const std::vector<SweepGroup>& groups, const Arguments& arguments,
                    ProgressReporter& reporter) {
  SweepOptions options = arguments.sweep.sweep_options(simulation.model());
  options.num_threads = arguments.model.num_threads;
  options.forecast = [](const SweepForecast& forecast) { note(forecast_text(forecast)); };
  reporter.begin("sweep", "evaluations", find_metric(options.metric).unit);
  options.progress = [&reporter](const SweepProgress& progress) {
    reporter.update(progress);
    return interrupted();
  };
  SweepResult result = bitsweep::sweep(simulation, samples, groups, options);
  reporter.end();
  return result;
}

int run_sweep(const Arguments& arguments) {
  catch_interrupts();
  // Whatever the user got wrong shows before the work starts.
  arguments.sweep.sweep_options();
  if (arguments.groups_by_name()) name_pattern(arguments.sweep.group);
  const SimulationOptions simulation_options = arguments.model.simulation_options();
  ProgressReporter reporter(parse_progress_style(arguments.sweep.progress), stderr);

  const Model model = Model::load(arguments.model.model);
  const SweepOptions checked = arguments.sweep.sweep_options(model);
  const auto samples = open_data_for(metrics_of(checked), arguments.data, model);
  const bool same_data = arguments.data.calibration_data.empty();
  const auto calibration_samples = open_calibration_data(arguments.data, model);
  prepare_output_folder(arguments.sweep.output_folder);
  if (same_data) note("calibrating on the samples of --data; give others with --calibration-data");

  Simulation simulation(model, simulation_options);
  arguments.model.apply_to(simulation);
  // What cannot be scored or predicted shows before the samples run.
  find_configurations(arguments.sweep.predictions, find_groups(simulation, arguments),
                      arguments.sweep.metric);
  const std::int64_t num_calibration_samples =
      calibrate(simulation, *calibration_samples, reporter);
  // Calibration leaves tensors in float that can have no range, such as a mask of -inf.
  const std::vector<SweepGroup> groups = find_groups(simulation, arguments);
  const std::vector<Configuration> configurations =
      find_configurations(arguments.sweep.predictions, groups, arguments.sweep.metric);
  const SweepResult result = measure(simulation, *samples, groups, arguments, reporter);

  for (const std::string& text : result.notes) note(text);
  if (result.scores.empty()) {
    throw Error(ErrorCode::kCancelled, "sweep",
                "interrupted before the first score, nothing was saved", "");
  }
  const std::vector<GroupDetail> details = describe_groups(simulation, result);
  Facts facts = facts_of(arguments, simulation, num_calibration_samples, result);
  for (auto& fact : prediction_facts(configurations, result)) facts.push_back(std::move(fact));
  const std::string next = next_mix({.model = arguments.model.model,
                                     .data = arguments.data.data,
                                     .calibration_data = arguments.data.calibration_data,
                                     .outputs = arguments.sweep.outputs.names,
                                     .rules = arguments.model.rules});
  write_results(arguments.sweep.output_folder, simulation, result, facts, next);

  fmt::print("{}\n", ranking_text(result, details));
  for (const MetricScores& more : result.more) fmt::print("{}\n", worst_text(more));
  if (result.stability) fmt::print("{}\n", stability_text(*result.stability));
  if (arguments.sweep.interactions)
    fmt::print("{}\n", interactions_text(*result.interactions, arguments.sweep.pairs));
  if (!configurations.empty()) fmt::print("{}\n", predictions_text(configurations, result));
  fmt::print("metric  {}: {}; {} is better\n", result.metric, find_metric(result.metric).summary,
             result.better == Better::kHigher ? "higher" : "lower");
  for (const auto& [name, value] : facts) {
    // For machines, or printed above.
    if (name == "model sha256" || name == "bitsweep" || name.starts_with("predicted for "))
      continue;
    fmt::print("{:<8}{}\n", name == "calibration" ? "ranges" : name, value);
  }
  fmt::print("cost    {}\n", cost_text(result));
  const fs::path folder = arguments.sweep.output_folder;
  fmt::print("saved   {}, {}\n", (folder / "results.json").string(),
             (folder / "report.html").string());
  if (result.complete) {
    fmt::print("next    {}\n", next);
    return 0;
  }
  std::fflush(stdout);
  fmt::print(stderr,
             "interrupted: the scores cover {}; what was measured is saved, and the same command "
             "continues\n",
             plural(result.num_samples, "sample"));
  return kInterruptedExitCode;
}

}  // namespace

void add_sweep_command(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand(
      "sweep", "score every quantizer (or operator) of a model by switching it on alone");
  const auto arguments = std::make_shared<Arguments>();
  arguments->model.add_to(command);
  arguments->data.add_to(command);
  arguments->data.add_calibration_to(command);
  arguments->data.add_labels_to(command);
  arguments->sweep.add_to(command);
  command->callback(
      [action, arguments] { *action = [arguments] { return run_sweep(*arguments); }; });
}

}  // namespace bitsweep::cli
