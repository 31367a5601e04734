#include "options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "bitsweep/data.h"
#include "bitsweep/error.h"
#include "bitsweep/mix.h"
#include "bitsweep/names.h"
#include "calibrate.h"
#include "help.h"
#include "words.h"

namespace bitsweep::cli {

namespace {

/// More cannot be meant, and each costs memory.
constexpr std::int64_t kMostThreads = 4096;

}  // namespace

void ModelArguments::add_to(CLI::App* command) {
  begin_options(command, "Model and simulation");
  command->add_option("model", model, "the ONNX file")->required()->type_name("MODEL");
  command
      ->add_option("--bits", bits,
                   "bits of weights and activations; after @ the granularity of the weights "
                   "(per_tensor, per_channel, block32) and a range estimator in place of --scheme "
                   "(also percentile99.9), such as W4A8@block32")
      ->capture_default_str()
      ->type_name("WxAy[@...]");
  command
      ->add_option("--policy", policy,
                   "policy.json of `bitsweep mix`: each tensor gets the type that was chosen")
      ->type_name("FILE");
  command->add_option("--rules", rules, "where quantizers go: name or JSON file of the rules")
      ->capture_default_str()
      ->type_name("NAME|FILE");
  command->add_option("--scheme", scheme, "how observed values become a range")
      ->capture_default_str()
      ->type_name("NAME");
  take_one_of(
      command
          ->add_option(
              "--histogram", histogram,
              "values that tf_enhanced and percentile can see: three times the range of the "
              "first batch, as aimet_onnx has it, or all")
          ->capture_default_str(),
      {"first_batch", "growing"});
  take_whole_numbers(command->add_option("--threads", num_threads, "threads; 0: one per core")
                         ->capture_default_str(),
                     0, kMostThreads);
  command
      ->add_option("--ort-lib", ort_library,
                   "the ONNX Runtime library to open; searched when not given")
      ->type_name("FILE");
  command
      ->add_option("--provider", providers, "execution provider of ONNX Runtime; may be repeated")
      ->allow_extra_args(false)
      ->capture_default_str()
      ->type_name("NAME");
  command
      ->add_option("--custom-op-library", custom_op_libraries,
                   "library with operators that the model needs; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
}

SimulationOptions ModelArguments::simulation_options() const {
  SimulationOptions options;
  const Candidate types = parse_bits(bits);
  options.parameter_format = *types.parameter;
  options.activation_format = types.activation;
  options.scheme = types.estimator ? types.estimator->scheme : parse_scheme(scheme);
  options.rules = rules;
  options.providers = providers;
  options.num_threads = num_threads;
  options.ort_library = ort_library;
  for (const std::string& library : custom_op_libraries)
    options.custom_op_libraries.emplace_back(library);
  return options;
}

namespace {

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) {
    throw Error(ErrorCode::kNotFound, "policy", "\"" + path + "\" cannot be read",
                "give the policy.json that `bitsweep mix` wrote");
  }
  return text;
}

}  // namespace

void ModelArguments::apply_to(Simulation& simulation) const {
  const Candidate types = parse_bits(bits);
  if (types.granularity) {
    const std::vector<std::string> kept = set_weight_granularity(simulation, *types.granularity);
    if (!kept.empty()) {
      note(fmt::format("not in blocks of {}, which do not divide the input channels: {}",
                       types.granularity->block_size, quoted_list(kept, 3)));
    }
  }
  if (types.estimator) {
    for (const std::string& tensor : simulation.tensor_names())
      simulation.quantizer(tensor)->set_percentile(types.estimator->percentile);
  }
  if (!policy.empty()) apply_mix_policy(simulation, text_of_file(policy));
  for (const std::string& tensor : simulation.tensor_names()) {
    simulation.quantizer(tensor)->set_histogram_support(
        histogram == "growing" ? HistogramSupport::kGrowing : HistogramSupport::kFirstBatch);
  }
}

void DataArguments::add_to(CLI::App* command) {
  begin_options(command, "Samples");
  command
      ->add_option("--data", data, "samples: .npz, folder of .npz or .npy files, or ONNX test data")
      ->required()
      ->type_name("PATH");
  take_whole_numbers(
      command->add_option("--samples", num_samples, "use only the first N samples of --data"), 1);
  take_whole_numbers(
      command
          ->add_option("--batch-size", batch_size,
                       "rows per sample of stacked arrays; 0: the model's fixed batch, else 1")
          ->capture_default_str(),
      0);
}

void DataArguments::add_calibration_to(CLI::App* command) {
  command
      ->add_option("--calibration-data", calibration_data,
                   "samples that set the ranges; the same as --data when not given")
      ->type_name("PATH");
  take_whole_numbers(command->add_option("--calibration-samples", num_calibration_samples,
                                         "calibrate on the first N samples only"),
                     1);
}

void DataArguments::add_labels_to(CLI::App* command) {
  command
      ->add_option("--labels", labels,
                   "the truth, for metrics that need it: array of the .npz file, or an .npy file")
      ->type_name("NAME|FILE");
}

Tensor read_labels(const std::string& labels, const std::string& data) {
  namespace fs = std::filesystem;
  if (fs::path(labels).extension() == ".npy") return read_npy(labels);
  if (fs::path(data).extension() == ".npz") return read_npz(data, labels);
  throw Error(ErrorCode::kInvalidArgument, "options",
              "the labels " + labels + " are no .npy file, and " + data +
                  " is no .npz file that could hold them",
              "save the labels of all samples as one .npy file");
}

void OutputArguments::add_to(CLI::App* command) {
  command
      ->add_option("--outputs", names,
                   "output to compare; may be repeated; all floating-point ones when not given")
      ->allow_extra_args(false)
      ->type_name("NAME");
}

std::vector<int> OutputArguments::positions(const Model& model) const {
  std::vector<std::string> known;
  for (const ValueInfo& output : model.outputs()) known.push_back(output.name);
  std::vector<int> positions;
  for (const std::string& name : names) {
    const auto output = std::find(known.begin(), known.end(), name);
    if (output == known.end()) throw unknown_name("options", "output of the model", name, known);
    positions.push_back(static_cast<int>(output - known.begin()));
  }
  return positions;
}

void SweepArguments::add_to(CLI::App* command) {
  begin_options(command, "What is measured");
  command->add_option("--metric", metric, "how outputs are compared; `bitsweep metrics` lists them")
      ->capture_default_str()
      ->type_name("NAME");
  command
      ->add_option("--also", more_metrics, "a further metric, from the same runs; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME");
  outputs.add_to(command);
  take_one_of(command->add_option("--combine", combine, "how several outputs become one score")
                  ->capture_default_str(),
              {"worst", "mean"});
  take_whole_numbers(command->add_option("--top-k", top_k, "entries per position for top-k metrics")
                         ->capture_default_str(),
                     1, std::numeric_limits<int>::max());
  command
      ->add_option("--group", group,
                   "what is switched on together: each quantizer alone, those of an operator, or "
                   "those in whose names a regular expression finds the same text")
      ->capture_default_str()
      ->type_name("quantizer|op|REGEX");
  take_one_of(
      command
          ->add_option(
              "--mode", mode,
              "what is on while a group is scored: it alone, all but it, or it and all before")
          ->capture_default_str(),
      {"enable_one", "disable_one", "cumulative"});
  take_one_of(command->add_option("--only", only, "score weights or activations only"),
              {"weights", "activations"});
  command
      ->add_option("--include", patterns,
                   "score only tensors with such names, * and ? stand for any; may be repeated")
      ->allow_extra_args(false)
      ->type_name("PATTERN");
  CLI::Option* const stable = command->add_option(
      "--until", until, "stable: spend samples only where the most sensitive part is not sure yet");
  take_one_of(stable, {"stable"});
  take_numbers(
      command
          ->add_option("--top", top_percent, "with --until stable: the most sensitive part to find")
          ->capture_default_str()
          ->needs(stable),
      "PERCENT", {.above = 0.0, .most = 100.0});
  take_numbers(command
                   ->add_option("--threshold", threshold,
                                "with --until stable: find what scores worse than this instead")
                   ->needs(stable),
               "SCORE");
  CLI::Option* const paired = command->add_flag("--interactions", interactions,
                                                "also find groups whose errors cancel or add up");
  take_whole_numbers(command->add_option("--pairs", pairs, "with --interactions: pairs to print")
                         ->capture_default_str()
                         ->needs(paired),
                     1, std::numeric_limits<int>::max());
  command
      ->add_option("--predict", predictions,
                   "also predict the score with all these groups quantized: names with * and ?, "
                   "commas between them; may be repeated")
      ->allow_extra_args(false)
      ->type_name("PATTERNS");
  begin_options(command, "Work and results");
  command
      ->add_option(
          "--keep", keep,
          "outputs kept in the output folder, so that another metric needs no run; 0: none")
      ->capture_default_str()
      ->type_name("SIZE");
  command
      ->add_option(
          "--max-memory", max_memory,
          "for sessions and kept activations, e.g. 2GB; half of the machine when not given")
      ->type_name("SIZE");
  take_one_of(command
                  ->add_option("--thread-use", thread_use,
                               "what threads do at the same time: states, one each; runs, all "
                               "the same one; measured: what is faster at the start")
                  ->capture_default_str(),
              {"states", "runs", "measured"});
  command->add_flag("--no-reuse", no_reuse,
                    "run the whole simulated model for every score (to compare)");
  add_progress_option(command, &progress);
  command
      ->add_option("-o,--output", output_folder,
                   "folder for results.json, report.html, run.json and the journal; a sweep that "
                   "was stopped continues there")
      ->required()
      ->type_name("DIR");
}

MetricOptions SweepArguments::metric_options(const Model& model) const {
  MetricOptions options;
  options.k = top_k;
  options.reduction = combine == "mean" ? OutputReduction::kMean : OutputReduction::kWorst;
  options.outputs = outputs.positions(model);
  return options;
}

QuantizerFilter SweepArguments::filter() const {
  return {
      .parameters = only != "activations", .activations = only != "weights", .patterns = patterns};
}

SweepOptions SweepArguments::sweep_options(const Model& model) const {
  SweepOptions options = sweep_options();
  options.metric_options = metric_options(model);
  for (MetricChoice& more : options.more_metrics) more.options = options.metric_options;
  return options;
}

SweepOptions SweepArguments::sweep_options() const {
  SweepOptions options;
  options.metric = metric;
  find_metric(metric);
  for (const std::string& name : more_metrics) {
    find_metric(name);
    options.more_metrics.push_back({name, {}});
  }
  options.mode = parse_sweep_mode(mode);
  options.reuse = !no_reuse;
  options.thread_use = parse_thread_use(thread_use);
  options.interactions = interactions || !predictions.empty();
  if (!max_memory.empty()) options.max_memory_bytes = parse_size(max_memory);
  if (!until.empty()) {
    options.until_stable.emplace();
    options.until_stable->top_fraction = top_percent / 100.0;
    options.until_stable->threshold = threshold;
  }
  options.run_directory = output_folder;
  options.max_kept_bytes = keep == "0" ? 0 : parse_size(keep);
  return options;
}

void add_progress_option(CLI::App* command, std::string* style) {
  take_one_of(command->add_option("--progress", *style, "how progress shows on stderr")
                  ->capture_default_str(),
              progress_style_names());
}

void add_json_flag(CLI::App* command, bool* json) {
  command->add_flag("--json", *json, "print JSON instead of a table");
}

}  // namespace bitsweep::cli
