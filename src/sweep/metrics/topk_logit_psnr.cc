#include <algorithm>

#include "sweep/metrics/psnr_metric.h"
#include "sweep/metrics/registry.h"
#include "sweep/metrics/top_indices.h"

// PSNR over the entries that matter: the k largest of the float output along the last axis, of all
// samples together. Compares the first floating-point output unless the options choose.

namespace bitsweep::scoring {
namespace {

class TopkLogitPsnr final : public PsnrMetric {
 public:
  explicit TopkLogitPsnr(const MetricOptions& options) : PsnrMetric("topk_logit_psnr", options) {}

 private:
  std::vector<int> default_outputs(std::span<const Tensor> reference) const override {
    return first_float_output(reference);
  }

  static Tensor gather(std::span<const float> values, const std::vector<std::uint32_t>& picks) {
    Tensor gathered = Tensor::allocate(DataType::kFloat, {static_cast<std::int64_t>(picks.size())});
    const std::span<float> out = gathered.mutable_floats();
    for (std::size_t i = 0; i < picks.size(); ++i) out[i] = values[picks[i]];
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
    // A vocabulary is large and the rest of it is never looked at again: only these are kept.
    output.tensor = gather(output.values(), output.picks);
    require_finite(output, output.values());
    set_range(output, output.values());
  }

  bool measure(const OutputReference& reference, std::span<const float> simulated,
               std::span<double> sums) const override {
    return compare(reference, reference.values(), gather(simulated, reference.picks).floats(),
                   sums);
  }
};

BITSWEEP_REGISTER_METRIC(
    {.info = {.name = "topk_logit_psnr",
              .unit = "dB",
              .summary = "PSNR over the k largest logits of each position of the float output",
              .better = Better::kHigher},
     .make = make<TopkLogitPsnr>});

}  // namespace
}  // namespace bitsweep::scoring
