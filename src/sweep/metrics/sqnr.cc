#include <algorithm>
#include <cmath>

#include "sweep/metrics/registry.h"
#include "sweep/metrics/sums.h"

// Signal-to-quantization-noise ratio: 10 log10(sum r^2 / sum (r - q)^2), in dB.

namespace bitsweep::scoring {
namespace {

class Sqnr final : public OutputMetric {
 public:
  explicit Sqnr(const MetricOptions& options) : OutputMetric("sqnr", 2, options) {}

 private:
  enum Sum { kSignal, kNoise };

  void describe(OutputReference& output) const override {
    OutputMetric::describe(output);
    output.facts = {sum_of_squares(output.values())};
  }

  bool measure(const OutputReference& reference, std::span<const float> simulated,
               std::span<double> sums) const override {
    sums[kSignal] = reference.facts[0];
    sums[kNoise] = sum_squared_error(reference.values(), simulated);
    return std::isfinite(sums[kNoise]);
  }

  double score_of(std::span<const double> sums) const override {
    const double limit = options().max_db;
    // Identical outputs have no noise, also when both are zero: the best score, and a finite one.
    if (sums[kNoise] == 0.0) return limit;
    if (sums[kSignal] == 0.0) return -limit;
    // Logarithms apart: the ratio of the sums could overflow.
    return std::clamp(10.0 * (std::log10(sums[kSignal]) - std::log10(sums[kNoise])), -limit, limit);
  }

  double worst_score() const override { return -options().max_db; }
};

BITSWEEP_REGISTER_METRIC({.info = {.name = "sqnr",
                                   .unit = "dB",
                                   .summary = "signal over quantization noise; worst output",
                                   .better = Better::kHigher},
                          .make = make<Sqnr>});

}  // namespace
}  // namespace bitsweep::scoring
