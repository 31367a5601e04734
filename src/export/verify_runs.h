#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bitsweep/sample_source.h"
#include "bitsweep/simulation.h"
#include "bitsweep/verify.h"
#include "export/plain_agreement.h"
#include "graph/graph.h"
#include "simulate/network/plain_run.h"
#include "simulate/runtime/file_session.h"

namespace bitsweep::exporting {

/// What verify() runs with each sample.
enum Run : std::uint8_t { kFloatRun, kUsualRun, kPlainRun, kFileRun, kOptimizedRun, kNumRuns };

/// The runs of the models that verify() compares. Where the weights are large, only one is set up
/// at a time.
class VerifyRuns {
 public:
  /// Without a float file the simulation runs the float model too. All must outlive this.
  VerifyRuns(Simulation& simulation, std::filesystem::path qdq_file,
             std::filesystem::path float_file, const graph::Graph& exported,
             const StoredBiases& biases, const VerifyOptions& options);

  bool large() const { return large_; }

  /// Whether the runtime opens the exported file with a level of optimizations.
  LoadCheck load(simulate::OptimizationLevel level, const std::string& name);

  /// The samples to run next; empty at the end of the source.
  std::vector<Feed> next_feeds(SampleSource& samples) const;

  /// Outputs by sample.
  std::vector<std::vector<Tensor>> outputs_of(Run run, const std::vector<Feed>& feeds);

  /// The float model as the file computes it: with an operator set, without quantizers.
  std::vector<Tensor> float_outputs(std::int64_t opset, const Feed& feed) const;

  /// Of the exported file with all optimizations, but kernels whose 8-bit products do not saturate;
  /// nullopt when the runtime cannot rewrite the file for them.
  std::optional<std::vector<Tensor>> outputs_of_exact_products(const Feed& feed) const;

  /// Median of some runs; not for large weights.
  double latency_ms(Run run, const Feed& feed, int num_runs) const;

 private:
  using Runner = std::function<std::vector<Tensor>(const Feed&)>;

  Runner file(const std::filesystem::path& path, simulate::OptimizationLevel level,
              bool exact_products = false) const;
  Runner simulated(simulate::PlainRunOptions options) const;
  Runner make(Run run) const;

  Simulation& simulation_;
  std::filesystem::path qdq_file_;
  std::filesystem::path float_file_;
  const graph::Graph& exported_;
  const StoredBiases& biases_;
  VerifyOptions options_;
  bool large_;
  std::array<Runner, kNumRuns> runners_;
};

}  // namespace bitsweep::exporting
