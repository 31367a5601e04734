#include "calibrate.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "bitsweep/error.h"
#include "bitsweep/metric.h"
#include "interrupt.h"

namespace bitsweep::cli {

void note(const std::string& text) {
  std::fflush(stdout);
  fmt::print(stderr, "note: {}\n", text);
}

std::unique_ptr<DataSource> open_data(const DataArguments& arguments, const Model& model) {
  return open_samples(arguments.data, model,
                      {.max_samples = arguments.num_samples, .batch_size = arguments.batch_size});
}

std::unique_ptr<DataSource> open_data_for(const std::vector<std::string>& metrics,
                                          const DataArguments& arguments, const Model& model) {
  auto samples = open_data(arguments, model);
  std::vector<std::string> unused = samples->unused();
  std::erase(unused, arguments.labels);
  for (const std::string& name : metrics) {
    if (!find_metric(name).needs_labels || !arguments.labels.empty()) continue;
    throw Error(ErrorCode::kInvalidArgument, "options",
                "the metric " + name + " compares with labels, and there are none",
                unused.empty() ? "name them with --labels FILE.npy"
                               : fmt::format("name them with --labels; {} holds: {}",
                                             arguments.data, fmt::join(unused, ", ")));
  }
  if (!arguments.labels.empty())
    samples = with_labels(std::move(samples), read_labels(arguments.labels, arguments.data));
  if (!unused.empty()) {
    note(fmt::format("not used, because no model input has the name: {}", fmt::join(unused, ", ")));
  }
  return samples;
}

std::unique_ptr<DataSource> open_calibration_data(const DataArguments& arguments,
                                                  const Model& model) {
  const bool same = arguments.calibration_data.empty();
  const bool same_number = same && arguments.num_calibration_samples < 0;
  return open_samples(
      same ? arguments.data : arguments.calibration_data, model,
      {.max_samples = same_number ? arguments.num_samples : arguments.num_calibration_samples,
       .batch_size = arguments.batch_size});
}

std::int64_t calibrate(Simulation& simulation, SampleSource& samples, ProgressReporter& reporter) {
  const auto start = std::chrono::steady_clock::now();
  reporter.begin("calibrate", "samples", "");
  SweepProgress progress;
  progress.total = samples.size();
  try {
    simulation.calibrate(samples, [&](std::int64_t done) {
      if (interrupted()) {
        throw Error(ErrorCode::kCancelled, "calibrate",
                    "interrupted, nothing was measured or written", "");
      }
      progress.done = done;
      progress.elapsed_s =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      progress.remaining_s = progress.elapsed_s / static_cast<double>(progress.done) *
                             static_cast<double>(progress.total - progress.done);
      reporter.update(progress);
      return false;
    });
  } catch (...) {
    reporter.end();
    throw;
  }
  reporter.end();
  for (const auto& [tensor, count] : simulation.non_finite_counts()) {
    note(fmt::format("calibration met {} NaN or infinite {} in tensor \"{}\" and left them out",
                     count, count == 1 ? "value" : "values", tensor));
  }
  return progress.done;
}

}  // namespace bitsweep::cli
