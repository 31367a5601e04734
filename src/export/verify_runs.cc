#include "export/verify_runs.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

#include "bitsweep/error.h"
#include "graph/file/mapped_file.h"
#include "simulate/engine.h"
#include "simulate/network/network.h"

namespace bitsweep::exporting {
namespace {

using graph::TensorId;
using simulate::FileSession;
using simulate::OptimizationLevel;
using simulate::PlainRun;

// Samples that a large model sees before its next run is set up.
constexpr std::size_t kBatch = 64;
constexpr std::size_t kBatchBytes = std::size_t{64} << 20;

std::size_t size_bytes(const Feed& feed) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : feed) bytes += value.size_bytes();
  return bytes;
}

void give_back_weights(const graph::Graph& graph) {
  for (TensorId t = 0; t < static_cast<TensorId>(graph.tensors().size()); ++t) {
    if (graph.tensor(t).is_static) graph::give_back_pages(graph.static_value(t));
  }
}

}  // namespace

VerifyRuns::VerifyRuns(Simulation& simulation, std::filesystem::path qdq_file,
                       std::filesystem::path float_file, const graph::Graph& exported,
                       const StoredBiases& biases, const VerifyOptions& options)
    : simulation_(simulation),
      qdq_file_(std::move(qdq_file)),
      float_file_(std::move(float_file)),
      exported_(exported),
      biases_(biases),
      options_(options),
      large_(simulate::has_large_weights(simulation.engine().network())) {}

VerifyRuns::Runner VerifyRuns::file(const std::filesystem::path& path, OptimizationLevel level,
                                    bool exact_products) const {
  const auto session = std::make_shared<const FileSession>(
      path, simulate::FileSessionOptions{
                .level = level,
                .num_threads = options_.num_threads,
                .exact_products = exact_products,
                .small = large_,
                .ort_library = simulation_.options().ort_library,
                .custom_op_libraries = simulation_.options().custom_op_libraries});
  return [session](const Feed& feed) { return session->run(feed); };
}

LoadCheck VerifyRuns::load(OptimizationLevel level, const std::string& name) {
  LoadCheck check{.level = name, .loads = false, .reason = {}};
  try {
    Runner runner = file(qdq_file_, level);
    check.loads = true;
    if (large_) return check;
    if (level == OptimizationLevel::kDisabled) {
      runners_[kFileRun] = std::move(runner);
    } else if (level == OptimizationLevel::kAll) {
      runners_[kOptimizedRun] = std::move(runner);
    }
  } catch (const Error& refusal) {
    if (refusal.code() != ErrorCode::kRuntime) throw;
    check.reason = refusal.what();
  }
  return check;
}

std::vector<Feed> VerifyRuns::next_feeds(SampleSource& samples) const {
  std::vector<Feed> feeds;
  std::size_t bytes = 0;
  Feed feed;
  while (feeds.size() < (large_ ? kBatch : 1) && bytes < kBatchBytes && samples.next(&feed)) {
    simulation_.check_feed(feed);
    bytes += size_bytes(feed);
    feeds.push_back(feed);
  }
  return feeds;
}

VerifyRuns::Runner VerifyRuns::simulated(simulate::PlainRunOptions options) const {
  options.outputs = simulation_.engine().network().graph().outputs();
  const auto run = std::make_shared<const PlainRun>(simulation_.engine().network(), options);
  return [run](const Feed& feed) { return run->run(feed); };
}

VerifyRuns::Runner VerifyRuns::make(Run run) const {
  switch (run) {
    case kFloatRun:
      if (!float_file_.empty())
        return file(float_file_, large_ ? OptimizationLevel::kDisabled : OptimizationLevel::kAll);
      if (large_) return simulated({.quantized = false});
      return [this](const Feed& feed) { return simulation_.run_float(feed); };
    case kUsualRun:
      if (large_) return simulated({.rounds_as_file = false});
      return [this](const Feed& feed) { return simulation_.run(feed); };
    case kPlainRun:
      return simulated({.constants = biases_.by_tensor,
                        .constant_inputs = biases_.by_input,
                        .opset = exported_.model().opset()});
    case kFileRun:
      return file(qdq_file_, OptimizationLevel::kDisabled);
    default:
      return file(qdq_file_, OptimizationLevel::kAll);
  }
}

std::vector<std::vector<Tensor>> VerifyRuns::outputs_of(Run run, const std::vector<Feed>& feeds) {
  Runner& runner = runners_[run];
  if (!runner) runner = make(run);
  std::vector<std::vector<Tensor>> outputs;
  outputs.reserve(feeds.size());
  for (const Feed& feed : feeds) outputs.push_back(runner(feed));
  if (large_) {
    runner = nullptr;
    give_back_weights(simulation_.engine().network().graph());
    give_back_weights(exported_);
  }
  return outputs;
}

std::vector<Tensor> VerifyRuns::float_outputs(std::int64_t opset, const Feed& feed) const {
  return simulated({.opset = opset, .quantized = false})(feed);
}

std::optional<std::vector<Tensor>> VerifyRuns::outputs_of_exact_products(const Feed& feed) const {
  try {
    return file(qdq_file_, OptimizationLevel::kAll, true)(feed);
  } catch (const Error& refusal) {
    if (refusal.code() != ErrorCode::kRuntime) throw;
    return std::nullopt;
  }
}

double VerifyRuns::latency_ms(Run run, const Feed& feed, int num_runs) const {
  const Runner& runner = runners_[run];
  runner(feed);  // the first run allocates
  std::vector<double> times;
  for (int i = 0; i < num_runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    runner(feed);
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::nth_element(times.begin(), times.begin() + num_runs / 2, times.end());
  return times[static_cast<std::size_t>(num_runs / 2)];
}

}  // namespace bitsweep::exporting
