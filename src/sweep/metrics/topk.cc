#include <algorithm>
#include <cmath>

#include "bitsweep/error.h"
#include "sweep/metrics/registry.h"
#include "sweep/metrics/top_indices.h"

// Agreement of the k largest entries along the last axis: mean over rows of the share of the float
// model's top k that the simulated model has in its top k too. top1 is the case k = 1. Of equal
// values the first ones count as larger.

namespace bitsweep::scoring {
namespace {

class TopK : public OutputMetric {
 public:
  TopK(const char* name, std::size_t k, const MetricOptions& options)
      : OutputMetric(name, 2, options), name_(name), k_(k) {}

 private:
  enum Sum { kAgreement, kRows };

  static bool has_nan(std::span<const float> values) {
    return std::any_of(values.begin(), values.end(), [](float value) { return std::isnan(value); });
  }

  std::size_t entries(const OutputReference& output) const { return std::min(k_, output.columns); }

  void describe(OutputReference& output) const override {
    if (has_nan(output.values())) {
      throw Error(ErrorCode::kInvalidData, name_,
                  "output " + std::to_string(output.index) + " of the float model holds NaN",
                  "check the sample, or compare other outputs");
    }
    for (std::size_t row = 0; row < output.rows; ++row) {
      const auto top = top_indices(output.values().subspan(row * output.columns, output.columns),
                                   entries(output));
      output.picks.insert(output.picks.end(), top.begin(), top.end());
    }
  }

  bool measure(const OutputReference& reference, std::span<const float> simulated,
               std::span<double> sums) const override {
    if (has_nan(simulated)) return false;
    const std::size_t k = entries(reference);
    std::size_t common = 0;
    for (std::size_t row = 0; row < reference.rows; ++row) {
      const auto top =
          top_indices(simulated.subspan(row * reference.columns, reference.columns), k);
      auto pick = reference.picks.begin() + static_cast<std::ptrdiff_t>(row * k);
      for (std::size_t i = 0; i < k; ++i, ++pick)
        common += std::binary_search(top.begin(), top.end(), *pick) ? 1 : 0;
    }
    sums[kAgreement] = static_cast<double>(common) / static_cast<double>(k);
    sums[kRows] = static_cast<double>(reference.rows);
    return true;
  }

  double score_of(std::span<const double> sums) const override {
    return sums[kAgreement] / sums[kRows];
  }
  double worst_score() const override { return 0.0; }

  const char* name_;
  std::size_t k_;
};

std::unique_ptr<MetricAccumulator> make_top1(const MetricOptions& options) {
  return std::make_unique<TopK>("top1", 1, options);
}
std::unique_ptr<MetricAccumulator> make_topk(const MetricOptions& options) {
  return std::make_unique<TopK>("topk", static_cast<std::size_t>(options.k), options);
}

[[maybe_unused]] const bool registered_top1 = register_metric(
    {.info = {.name = "top1",
              .unit = "",
              .summary = "share of rows whose largest entry stays the same; worst output",
              .better = Better::kHigher},
     .make = make_top1});

BITSWEEP_REGISTER_METRIC(
    {.info = {.name = "topk",
              .unit = "",
              .summary =
                  "share of the k largest entries of a row that stay among the k; worst output",
              .better = Better::kHigher},
     .make = make_topk});

}  // namespace
}  // namespace bitsweep::scoring
