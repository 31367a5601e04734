#include <algorithm>
#include <cmath>

#include "sweep/metrics/registry.h"
#include "sweep/metrics/sums.h"
#include "sweep/metrics/top_indices.h"

// PSNR over the entries that matter: the k largest of the float output along the last axis, of all
// samples together. Compares the first floating-point output unless the options choose.

namespace bitsweep::scoring {
namespace {

class TopkLogitPsnr final : public OutputMetric {
 public:
  explicit TopkLogitPsnr(const MetricOptions& options)
      : OutputMetric("topk_logit_psnr", 4, options) {}

 private:
  enum Sum { kError, kCount, kMin, kMax };

  std::vector<int> default_outputs(std::span<const Tensor> reference) const override {
    std::vector<int> chosen = OutputMetric::default_outputs(reference);
    if (chosen.size() > 1) chosen.erase(chosen.begin() + 1, chosen.end());
    return chosen;
  }

  static std::vector<float> gather(std::span<const float> values,
                                   const std::vector<std::uint32_t>& picks) {
    std::vector<float> gathered(picks.size());
    for (std::size_t i = 0; i < picks.size(); ++i) gathered[i] = values[picks[i]];
    return gathered;
  }

  void describe(OutputReference& output) const override {
    const std::size_t k = std::min(static_cast<std::size_t>(options().k), output.columns);
    for (std::size_t row = 0; row < output.rows; ++row) {
      const std::size_t begin = row * output.columns;
      for (const std::uint32_t at :
           top_indices(output.values().subspan(begin, output.columns), k)) {
        output.picks.push_back(static_cast<std::uint32_t>(begin) + at);
      }
    }
    // Entries outside the top k may be -inf (masked tokens): only what is compared must be finite.
    const std::vector<float> expected = gather(output.values(), output.picks);
    require_finite(output, expected);
    const MinMax range = min_max(expected);
    output.facts = {range.min, range.max};
  }

  bool measure(const OutputReference& reference, std::span<const float> simulated,
               std::span<double> sums) const override {
    sums[kError] = sum_squared_error(gather(reference.values(), reference.picks),
                                     gather(simulated, reference.picks));
    sums[kCount] = static_cast<double>(reference.picks.size());
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
    {.info = {.name = "topk_logit_psnr",
              .unit = "dB",
              .summary = "PSNR over the k largest logits of each position of the float output",
              .better = Better::kHigher},
     .make = make<TopkLogitPsnr>});

}  // namespace
}  // namespace bitsweep::scoring
