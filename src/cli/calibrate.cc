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

std::unique_ptr<DataSource> open_data(const DataArguments& arguments, const Model& model) {
  return open_samples(arguments.data, model,
                      {.max_samples = arguments.num_samples, .batch_size = arguments.batch_size});
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
