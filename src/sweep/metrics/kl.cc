#include <algorithm>
#include <cmath>

#include "bitsweep/error.h"
#include "sweep/metrics/registry.h"
#include "sweep/metrics/sums.h"

// Mean over rows of KL(softmax(r) || softmax(q)) along the last axis, in nats. Entries of -inf are
// masked: probability 0.

namespace bitsweep::scoring {
namespace {

class KullbackLeibler final : public OutputMetric {
 public:
  explicit KullbackLeibler(const MetricOptions& options) : OutputMetric("kl", 2, options) {}

 private:
  enum Sum { kDivergence, kRows };

  // Facts: the probabilities of the float output, then for each row sum p log p.
  void describe(OutputReference& output) const override {
    const std::span<const float> values = output.values();
    output.facts.resize(values.size() + output.rows);
    for (std::size_t row = 0; row < output.rows; ++row) {
      const std::span<const float> logits = values.subspan(row * output.columns, output.columns);
      const double normaliser = log_sum_exp(logits);
      if (!std::isfinite(normaliser)) {
        throw Error(
            ErrorCode::kInvalidData, "kl",
            "output " + std::to_string(output.index) +
                " of the float model holds NaN, +inf or a row of -inf, which has no softmax",
            "check the sample, or compare other outputs");
      }
      double negative_entropy = 0.0;
      for (std::size_t i = 0; i < logits.size(); ++i) {
        const double log_p = static_cast<double>(logits[i]) - normaliser;
        const double p = std::exp(log_p);
        output.facts[row * output.columns + i] = p;
        if (p > 0.0) negative_entropy += p * log_p;
      }
      output.facts[values.size() + row] = negative_entropy;
    }
  }

  bool measure(const OutputReference& reference, std::span<const float> simulated,
               std::span<double> sums) const override {
    double total = 0.0;
    for (std::size_t row = 0; row < reference.rows; ++row) {
      const std::size_t begin = row * reference.columns;
      const std::span<const float> logits = simulated.subspan(begin, reference.columns);
      const double normaliser = log_sum_exp(logits);
      double cross = 0.0;  // sum p log q
      for (std::size_t i = 0; i < logits.size(); ++i) {
        const double p = reference.facts[begin + i];
        if (p > 0.0) cross += p * (static_cast<double>(logits[i]) - normaliser);
      }
      // Below zero only by rounding.
      total += std::max(reference.facts[simulated.size() + row] - cross, 0.0);
      if (!std::isfinite(normaliser) || !std::isfinite(cross)) return false;
    }
    sums[kDivergence] = total;
    sums[kRows] = static_cast<double>(reference.rows);
    return true;
  }

  double score_of(std::span<const double> sums) const override {
    return sums[kDivergence] / sums[kRows];
  }
  double worst_score() const override { return kWorstError; }
};

BITSWEEP_REGISTER_METRIC(
    {.info = {.name = "kl",
              .unit = "nats",
              .summary = "KL divergence of the softmax over the last axis; worst output",
              .better = Better::kLower},
     .make = make<KullbackLeibler>});

}  // namespace
}  // namespace bitsweep::scoring
