#include <algorithm>
#include <cmath>
#include <limits>

#include "bitsweep/error.h"
#include "sweep/metrics/registry.h"
#include "sweep/metrics/sums.h"

// Peak signal-to-noise ratio: 20 log10(range / rms error), in dB. The range is taken over all
// samples.

namespace bitsweep {
namespace scoring {

double psnr_from(double min, double max, double squared_error, double count, double max_db) {
  if (squared_error > static_cast<double>(std::numeric_limits<float>::max())) return -max_db;
  // Floors of the field's usual definition: an all-zero output has a range, and equal outputs have
  // some noise.
  constexpr double kSmallestRange = 1e-10;
  const double range = std::max({max - min, std::abs(min), std::abs(max), kSmallestRange});
  const double noise =
      std::max(std::sqrt(squared_error / count), kSmallestRange * std::pow(10.0, -max_db / 20.0));
  return std::clamp(20.0 * std::log10(range / noise), -max_db, max_db);
}

namespace {

class Psnr final : public OutputMetric {
 public:
  explicit Psnr(const MetricOptions& options) : OutputMetric("psnr", 4, options) {}

 private:
  enum Sum { kError, kCount, kMin, kMax };

  void describe(OutputReference& output) const override {
    OutputMetric::describe(output);
    const MinMax range = min_max(output.values());
    output.facts = {range.min, range.max};
  }

  bool measure(const OutputReference& reference, std::span<const float> simulated,
               std::span<double> sums) const override {
    sums[kError] = sum_squared_error(reference.values(), simulated);
    sums[kCount] = static_cast<double>(simulated.size());
    sums[kMin] = reference.facts[0];
    sums[kMax] = reference.facts[1];
    return std::isfinite(sums[kError]);
  }

  void join(std::span<double> into, std::span<const double> from) const override {
    into[kError] += from[kError];
    into[kCount] += from[kCount];
    into[kMin] = std::min(into[kMin], from[kMin]);
    into[kMax] = std::max(into[kMax], from[kMax]);
  }

  double score_of(std::span<const double> sums) const override {
    return psnr_from(sums[kMin], sums[kMax], sums[kError], sums[kCount], options().max_db);
  }

  double worst_score() const override { return -options().max_db; }
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
