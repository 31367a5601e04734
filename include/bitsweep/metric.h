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

/// How the scores of several outputs become one.
enum class OutputReduction { kWorst, kMean };

struct MetricOptions {
  int k = 10;  ///< entries per position of top-k metrics
  /// Indices of the outputs to compare; empty: every floating-point output.
  std::vector<int> outputs;
  double max_db = 100.0;  ///< scores in dB are clipped to [-max_db, max_db]
  OutputReduction reduction = OutputReduction::kWorst;
};

/// Float outputs of one sample with what a metric derives from them alone (top-k indices, ranges,
/// norms).
///
/// Made once per sample by MetricAccumulator::prepare() and shared by all states and threads.
class MetricReference {
 public:
  virtual ~MetricReference() = default;
};

/// Streaming score of simulated outputs against float outputs: feed pairs sample by sample, ask at
/// the end.
///
/// The score is that of all samples as if they were stacked, whatever their shapes; with several
/// outputs it is that of the worst output, or their mean. Outputs that are not floating point are
/// skipped. Partial
/// results join by merge(): samples added one by one to fresh() accumulators and merged in sample
/// order give the same bits as one accumulator fed in order.
///
/// A non-finite simulated value gives the worst score of the metric, and so does a simulated output
/// of another size (one whose shape depends on values, as of a detector); a non-finite float value
/// is an error.
class MetricAccumulator {
 public:
  virtual ~MetricAccumulator() = default;

  /// An empty accumulator with the same options; its score after one add() is the score of that
  /// sample alone.
  virtual std::unique_ptr<MetricAccumulator> fresh() const = 0;

  /// `labels`: integers, one for each row of the last axis, for metrics that need them; negative
  /// ones are skipped.
  /// @throws Error(kInvalidArgument | kInvalidData): no floating-point output, non-finite values in
  /// the float outputs, labels that are missing or do not fit.
  virtual std::shared_ptr<const MetricReference> prepare(std::span<const Tensor> reference,
                                                         const Tensor& labels) const = 0;
  std::shared_ptr<const MetricReference> prepare(std::span<const Tensor> reference) const {
    return prepare(reference, Tensor());
  }

  /// Adds one sample; `reference` comes from prepare() of an accumulator of the same metric and
  /// options, `simulated` holds the model's outputs in file order. @throws Error(kInvalidData) when
  /// their number, types or numbers of dimensions differ.
  virtual void add(const MetricReference& reference, std::span<const Tensor> simulated) = 0;

  /// The same without a shared reference.
  void add(std::span<const Tensor> reference, std::span<const Tensor> simulated) {
    add(*prepare(reference), simulated);
  }

  /// Sums behind the score: all that a journal must keep to join samples later.
  virtual std::vector<double> state() const = 0;
  /// Adds the samples behind a state() of the same metric and options.
  virtual void merge(std::span<const double> state) = 0;
  void merge(const MetricAccumulator& other) { merge(other.state()); }

  /// Score over all samples so far; always finite. @throws Error(kNotReady) without samples.
  virtual double score() const = 0;

  /// The same for each compared output apart, in the order of the model's outputs; NaN for one that
  /// held no values in any sample.
  virtual std::vector<double> output_scores() const = 0;
};

/// A row of the metric table: `bitsweep.metrics()`, `--metric`, the docs.
struct MetricInfo {
  std::string name;  ///< "sqnr", "psnr", "mse", "cosine", "kl", "top1", "accuracy", ...
  std::string unit;  ///< "dB", "" ...
  std::string summary;
  Better better = Better::kHigher;
  bool needs_labels = false;  ///< compares with the truth instead of the float outputs
};

/// Every metric, ordered by name.
std::vector<MetricInfo> metrics();

/// @throws Error(kInvalidArgument) naming the known metrics.
const MetricInfo& find_metric(std::string_view name);
/// @throws Error(kInvalidArgument): unknown name, k < 1, max_db not positive and finite, a negative
/// output index.
std::unique_ptr<MetricAccumulator> make_metric(std::string_view name,
                                               const MetricOptions& options = {});

/// PSNR of two equally shaped arrays in dB, clipped to +-max_db: 20 log10(range / rms error) with
/// range = max(max - min, max|expected|). @throws Error(kInvalidArgument) for empty input or
/// non-finite `expected`. A non-finite `actual` gives -max_db.
double psnr_db(std::span<const float> expected, std::span<const float> actual,
               double max_db = 100.0);

}  // namespace BITSWEEP_EXPORT bitsweep
