#include "calibrate.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "bitsweep/error.h"
#include "interrupt.h"

namespace bitsweep::cli {

void note(const std::string& text) {
  std::fflush(stdout);
  fmt::print(stderr, "note: {}\n", text);
}

std::unique_ptr<DataSource> open_data(const std::string& path, const Model& model,
                                      std::int64_t max_samples, std::int64_t batch_size) {
  return open_samples(path, model, {.max_samples = max_samples, .batch_size = batch_size});
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
