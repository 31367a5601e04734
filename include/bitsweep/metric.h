#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bitsweep/export.h"
#include "bitsweep/tensor.h"

namespace BITSWEEP_EXPORT bitsweep {

/// Which direction of a score is good.
enum class Better { kHigher, kLower };

struct MetricOptions {
  int k = 10;               ///< entries per position of top-k metrics
  std::vector<int> outputs; ///< indices of the outputs to compare; empty: every floating-point output
  double max_db = 100.0;    ///< clip of PSNR
};

/// Streaming score of simulated outputs against float outputs: feed pairs sample by sample, ask at the end.
///
/// Partial results add up (`state()` of several samples, summed elementwise), so that a journal can keep one row per
/// sample and a score can be taken from any subset.
class MetricAccumulator {
 public:
  virtual ~MetricAccumulator() = default;
  /// Adds one sample. `reference` and `simulated` hold the model's outputs in file order.
  virtual void add(std::span<const Tensor> reference, std::span<const Tensor> simulated) = 0;
  /// Score over all samples so far. @throws Error(kNotReady) without samples.
  virtual double score() const = 0;
};

/// A row of the metric table: `bitsweep.metrics()`, `--metric`, the docs.
struct MetricInfo {
  std::string name;     ///< "sqnr", "psnr", "mse", "cosine", "kl", "top1", "topk", "topk_logit_psnr"
  std::string unit;     ///< "dB", "" ...
  std::string summary;
  Better better = Better::kHigher;
};

std::vector<MetricInfo> metrics();

/// @throws Error(kInvalidArgument) naming the known metrics.
const MetricInfo& find_metric(std::string_view name);
std::unique_ptr<MetricAccumulator> make_metric(std::string_view name, const MetricOptions& options = {});

/// PSNR of two equally shaped arrays in dB, clipped to +-max_db: 20 log10(range / rms error) with
/// range = max(max - min, max|expected|). @throws Error(kInvalidArgument) for empty input or non-finite `expected`.
/// A non-finite `actual` gives -max_db.
double psnr_db(std::span<const float> expected, std::span<const float> actual, double max_db = 100.0);

}  // namespace bitsweep
