#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bitsweep/metric.h"
#include "bitsweep/simulation.h"
#include "bitsweep/sweep.h"
#include "progress.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace bitsweep::cli {

/// Which model, and how it is simulated: shared by every command that loads one.
struct ModelArguments {
  std::string model;
  std::string rules = "default";
  std::string bits = "W8A8";
  std::string scheme = "min_max";
  std::string histogram = "first_batch";
  std::string policy;
  std::string ort_library;
  std::vector<std::string> providers = {"CPUExecutionProvider"};
  std::vector<std::string> custom_op_libraries;
  int num_threads = 0;

  void add_to(CLI::App* command);
  SimulationOptions simulation_options() const;
  /// Settings that are not of the simulation but of its quantizers.
  void apply_to(Simulation& simulation) const;
};

/// Which samples.
struct DataArguments {
  std::string data;
  std::string calibration_data;
  std::int64_t num_samples = -1;
  std::int64_t num_calibration_samples = -1;
  std::int64_t batch_size = 0;
  std::string labels;

  /// Each command adds what it uses, in this order.
  void add_to(CLI::App* command);
  void add_calibration_to(CLI::App* command);
  void add_labels_to(CLI::App* command);
};

/// Labels of samples: an .npy file, or an array of the .npz file that holds the samples.
/// @throws Error(kInvalidArgument) and what reading throws.
Tensor read_labels(const std::string& labels, const std::string& data);

/// Which outputs of the model are compared.
struct OutputArguments {
  std::vector<std::string> names;

  void add_to(CLI::App* command);
  /// Of the model's outputs; empty for all. @throws Error(kInvalidArgument) for an unknown name.
  std::vector<int> positions(const Model& model) const;
};

/// What is measured and how the work is done.
struct SweepArguments {
  std::string metric = "sqnr";
  std::vector<std::string> more_metrics;
  OutputArguments outputs;
  std::string combine = "worst";
  int top_k = 10;
  std::string group = "quantizer";
  std::string mode = "enable_one";
  std::string only;
  std::vector<std::string> patterns;
  std::string until;
  double top_percent = 10.0;
  std::optional<double> threshold;
  bool interactions = false;
  std::vector<std::string> predictions;
  int pairs = 5;
  std::string keep = "1GB";
  bool no_reuse = false;
  std::string max_memory;
  std::string thread_use = "states";
  std::string progress = "auto";
  std::string output_folder;

  void add_to(CLI::App* command);
  /// Looks the names of --outputs up in the model. @throws Error(kInvalidArgument).
  MetricOptions metric_options(const Model& model) const;
  QuantizerFilter filter() const;
  /// Everything but progress and what needs the model. @throws Error(kInvalidArgument).
  SweepOptions sweep_options() const;
  /// The same with the outputs to compare.
  SweepOptions sweep_options(const Model& model) const;
};

/// How progress is shown.
void add_progress_option(CLI::App* command, std::string* style);
/// Switches a command's output from a table to JSON.
void add_json_flag(CLI::App* command, bool* json);

}  // namespace bitsweep::cli
