#include <algorithm>
#include <cmath>

#include "sweep/metrics/registry.h"
#include "sweep/metrics/sums.h"

// Cosine of the angle between all float and all simulated values: sum r q / (|r| |q|). Blind to a
// common scale.

namespace bitsweep::scoring {
namespace {

class Cosine final : public OutputMetric {
 public:
  explicit Cosine(const MetricOptions& options) : OutputMetric("cosine", 3, options) {}

 private:
  enum Sum { kDot, kReference, kSimulated };

  void describe(OutputReference& output) const override {
    OutputMetric::describe(output);
    output.facts = {sum_of_squares(output.values())};
  }

  bool measure(const OutputReference& reference, std::span<const float> simulated,
               std::span<double> sums) const override {
    sums[kDot] = dot(reference.values(), simulated);
    sums[kReference] = reference.facts[0];
    sums[kSimulated] = sum_of_squares(simulated);
    return std::isfinite(sums[kDot]) && std::isfinite(sums[kSimulated]);
  }

  double score_of(std::span<const double> sums) const override {
    // Two zero vectors are equal; a zero vector against another has no angle and shares nothing
    // with it.
    if (sums[kReference] == 0.0 && sums[kSimulated] == 0.0) return 1.0;
    if (sums[kReference] == 0.0 || sums[kSimulated] == 0.0) return 0.0;
    return std::clamp(sums[kDot] / (std::sqrt(sums[kReference]) * std::sqrt(sums[kSimulated])),
                      -1.0, 1.0);
  }

  double worst_score() const override { return -1.0; }
};

BITSWEEP_REGISTER_METRIC({.info = {.name = "cosine",
                                   .unit = "",
                                   .summary = "cosine similarity; worst output",
                                   .better = Better::kHigher},
                          .make = make<Cosine>});

}  // namespace
}  // namespace bitsweep::scoring
