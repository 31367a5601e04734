#include <cmath>

#include "sweep/metrics/registry.h"
#include "sweep/metrics/sums.h"

// Mean of (r - q)^2, in squared units of the output.

namespace bitsweep::scoring {
namespace {

class Mse final : public OutputMetric {
 public:
  explicit Mse(const MetricOptions& options) : OutputMetric("mse", 2, options) {}

 private:
  enum Sum { kError, kCount };

  bool measure(const OutputReference& reference, std::span<const float> simulated,
               std::span<double> sums) const override {
    sums[kError] = sum_squared_error(reference.values(), simulated);
    sums[kCount] = static_cast<double>(simulated.size());
    return std::isfinite(sums[kError]);
  }

  double score_of(std::span<const double> sums) const override {
    return sums[kError] / sums[kCount];
  }
  double worst_score() const override { return kWorstError; }
};

BITSWEEP_REGISTER_METRIC({.info = {.name = "mse",
                                   .unit = "",
                                   .summary = "mean squared error; worst output",
                                   .better = Better::kLower},
                          .make = make<Mse>});

}  // namespace
}  // namespace bitsweep::scoring
