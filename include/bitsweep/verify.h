#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bitsweep/export.h"
#include "bitsweep/sample_source.h"
#include "bitsweep/simulation.h"

namespace BITSWEEP_EXPORT bitsweep {

/// What is checked, and how exactly.
struct VerifyOptions {
  /// Steps of an output by which the exported model, run without optimizations, may differ from the
  /// plain simulation. One: a value that lies between two codes may round to either.
  double max_steps = 1.0;
  int num_threads = 1;  ///< of the sessions of the exported model
  /// Runs of the first sample per model; 0: no timing. Not done where the weights are large.
  int num_latency_runs = 10;
};

/// Whether ONNX Runtime opens the file with one level of optimizations.
struct LoadCheck {
  std::string level;  ///< "disabled", "basic", "extended", "all"
  bool loads = false;
  std::string reason;  ///< what the runtime says when it refuses
};

/// Two runs of the same samples, compared at one output; the worst sample counts.
struct Agreement {
  std::string output;
  /// "float"; "simulation" (Simulation::run()); or "plain simulation": computed as a runtime
  /// without optimizations computes the exported model, operator by operator, with biases in 32
  /// bits where the file has them and half steps rounded to even.
  std::string reference;
  std::string tested;  ///< "simulation", "qdq" (no optimizations) or "qdq optimized"
  double max_difference = 0.0;
  /// In steps of the output's grid; of an output without one: in 255ths of its range.
  double max_steps = 0.0;
  double sqnr_db = 0.0;  ///< over all samples; infinite when equal
  /// Share of positions whose largest entry along the last axis is the same.
  double top1_agreement = 1.0;
};

/// A tensor that the exported model computes in another way than the plain simulation.
struct Disagreement {
  std::string tensor;
  double max_difference = 0.0;
  double max_steps = 0.0;
  double share = 0.0;  ///< of the values that differ
  std::int64_t sample = 0;
};

/// What a check of an exported model found.
struct VerifyResult {
  std::vector<std::string> problems;  ///< what the checks of the file found, a sentence each
  std::vector<std::string> notes;     ///< what else one should know, a sentence each
  std::vector<LoadCheck> loads;
  std::vector<Agreement> agreements;
  /// First tensor of the model that differs by more than `max_steps`, in the sample whose outputs
  /// differ most; found by bisection. Only when an output differs.
  std::optional<Disagreement> first_disagreement;
  std::int64_t num_samples = 0;  ///< that were compared
  double float_ms = 0.0;         ///< median latency of one run, all optimizations; 0: not measured
  double qdq_ms = 0.0;           ///< the same of the exported model

  /// No problem; loads at every level; every output of the file, run without optimizations, is
  /// within `max_steps` of the plain simulation in every sample. Simulation::run() may differ by
  /// more: its sums run in another order and half steps go up, and a code that rounds to the other
  /// side moves everything behind it.
  bool passed = false;
};

/// Checks an exported model file against the simulation that it came from. Where the weights take
/// more than SimulationOptions::calibration_copies_bytes, the runs are set up one after another,
/// use the weights where they lie in their files, without fusions and copies made for speed, and no
/// latency is measured.
/// @throws Error for samples that do not fit, or a file that is no model.
VerifyResult verify(Simulation& simulation, const std::filesystem::path& qdq_file,
                    SampleSource& samples, const VerifyOptions& options = {});

/// The same when only the files are there: the simulation is read back from the QDQ model, the
/// float outputs come from `float_file`.
/// @throws Error also for a QDQ model whose nodes do not map to quantizers.
VerifyResult verify(const std::filesystem::path& float_file, const std::filesystem::path& qdq_file,
                    SampleSource& samples, const SimulationOptions& simulation_options = {},
                    const VerifyOptions& options = {});

}  // namespace BITSWEEP_EXPORT bitsweep
