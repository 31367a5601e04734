#include <algorithm>
#include <cmath>

#include "sweep/metrics/label_metric.h"
#include "sweep/metrics/registry.h"
#include "sweep/metrics/sums.h"

// Mean over rows of -log softmax(q)[label], in nats; perplexity is its exponential.

namespace bitsweep::scoring {
namespace {

class CrossEntropy final : public LabelMetric {
 public:
  CrossEntropy(const char* name, bool exponential, const MetricOptions& options)
      : LabelMetric(name, kNumSums, options), exponential_(exponential) {}

 private:
  double measure_row(std::span<const float> row, std::size_t label) const override {
    return log_sum_exp(row) - static_cast<double>(row[label]);
  }
  double score_of(std::span<const double> sums) const override {
    const double mean = sums[kRows] == 0.0 ? 0.0 : sums[kTotal] / sums[kRows];
    return exponential_ ? std::min(std::exp(mean), kWorstError) : mean;
  }
  double worst_score() const override { return kWorstError; }

  bool exponential_;
};

std::unique_ptr<MetricAccumulator> make_cross_entropy(const MetricOptions& options) {
  return std::make_unique<CrossEntropy>("cross_entropy", false, options);
}
std::unique_ptr<MetricAccumulator> make_perplexity(const MetricOptions& options) {
  return std::make_unique<CrossEntropy>("perplexity", true, options);
}

[[maybe_unused]] const bool registered_perplexity =
    register_metric({.info = {.name = "perplexity",
                              .unit = "",
                              .summary = "exponential of the cross-entropy with the labels",
                              .better = Better::kLower,
                              .needs_labels = true},
                     .make = make_perplexity});

BITSWEEP_REGISTER_METRIC(
    {.info = {.name = "cross_entropy",
              .unit = "nats",
              .summary = "mean of -log of the probability of the label, after a softmax",
              .better = Better::kLower,
              .needs_labels = true},
     .make = make_cross_entropy});

}  // namespace
}  // namespace bitsweep::scoring
