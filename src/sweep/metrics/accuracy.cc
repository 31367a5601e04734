#include <algorithm>
#include <cmath>
#include <limits>

#include "sweep/metrics/label_metric.h"
#include "sweep/metrics/registry.h"

// Share of the rows whose largest entry is the label. Of equal entries the first one counts.

namespace bitsweep::scoring {
namespace {

class Accuracy final : public LabelMetric {
 public:
  explicit Accuracy(const MetricOptions& options) : LabelMetric("accuracy", kNumSums, options) {}

 private:
  double measure_row(std::span<const float> row, std::size_t label) const override {
    if (std::any_of(row.begin(), row.end(), [](float v) { return std::isnan(v); }))
      return std::numeric_limits<double>::quiet_NaN();
    const auto largest = std::max_element(row.begin(), row.end()) - row.begin();
    return static_cast<std::size_t>(largest) == label ? 1.0 : 0.0;
  }
  double score_of(std::span<const double> sums) const override {
    // Only skipped labels: nothing was wrong.
    return sums[kRows] == 0.0 ? 1.0 : sums[kTotal] / sums[kRows];
  }
  double worst_score() const override { return 0.0; }
};

BITSWEEP_REGISTER_METRIC({.info = {.name = "accuracy",
                                   .unit = "",
                                   .summary = "share of rows whose largest entry is the label",
                                   .better = Better::kHigher,
                                   .needs_labels = true},
                          .make = make<Accuracy>});

}  // namespace
}  // namespace bitsweep::scoring
