#include <cmath>

#include "bitsweep/error.h"
#include "sweep/metrics/psnr_metric.h"
#include "sweep/metrics/registry.h"
#include "sweep/metrics/sums.h"

// Peak signal-to-noise ratio: 20 log10(range / rms error), in dB. The range is taken over all
// samples.

namespace bitsweep {
namespace scoring {

namespace {

class Psnr final : public PsnrMetric {
 public:
  explicit Psnr(const MetricOptions& options) : PsnrMetric("psnr", options) {}

 private:
  void describe(OutputReference& output) const override {
    OutputMetric::describe(output);
    set_range(output, output.values());
  }

  bool measure(const OutputReference& reference, std::span<const float> simulated,
               std::span<double> sums) const override {
    return compare(reference, reference.values(), simulated, sums);
  }
};

BITSWEEP_REGISTER_METRIC(
    {.info = {.name = "psnr",
              .unit = "dB",
              .summary = "peak of the float output over rms error; worst output",
              .better = Better::kHigher},
     .make = make<Psnr>});

}  // namespace
}  // namespace scoring

double psnr_db(std::span<const float> expected, std::span<const float> actual, double max_db) {
  if (expected.size() != actual.size()) {
    throw Error(ErrorCode::kInvalidArgument, "psnr",
                "expected has " + std::to_string(expected.size()) + " values and actual " +
                    std::to_string(actual.size()),
                "compare arrays of one shape");
  }
  if (expected.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "psnr", "the arrays are empty",
                "give at least one value");
  }
  if (!scoring::all_finite(expected)) {
    throw Error(ErrorCode::kInvalidArgument, "psnr", "expected holds NaN or infinite values",
                "check the float model and its input");
  }
  const double error = scoring::sum_squared_error(expected, actual);
  if (!std::isfinite(error)) return -max_db;
  const scoring::MinMax range = scoring::min_max(expected);
  return scoring::psnr_from(range.min, range.max, error, static_cast<double>(expected.size()),
                            max_db);
}

}  // namespace bitsweep
