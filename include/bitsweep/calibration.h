#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bitsweep/encoding.h"
#include "bitsweep/export.h"
#include "bitsweep/tensor.h"

namespace BITSWEEP_EXPORT bitsweep {

/// How observed values become a range.
///
/// kMinMax: all that was seen. kTfEnhanced: the grid with the least weighted squared error, where
/// clipping counts three times. kPercentile: a share of the values on each side. kMse: the grid
/// with the least squared error. kEntropy: the clipping with the least Kullback-Leibler divergence
/// between the values and their quantized form.
enum class Scheme { kMinMax, kTfEnhanced, kPercentile, kMse, kEntropy };

/// "min_max" (alias "tf"), "tf_enhanced", "percentile", "mse", "entropy".
/// @throws Error(kInvalidArgument) naming the known ones.
Scheme parse_scheme(std::string_view name);
std::string_view scheme_name(Scheme scheme);

/// Which values the histogram of kTfEnhanced and kPercentile can hold. The other schemes always
/// grow.
///
/// kFirstBatch: three times the range of the first batch that is not all zero; later values outside
/// are dropped and every batch weighs the same. This is how the reference implementation works, so
/// ranges equal its ranges. kGrowing: grows with the data, every value weighs the same: the result
/// does not depend on how samples are batched.
enum class HistogramSupport { kFirstBatch, kGrowing };

/// Mass of the bucket [left, left + width); all masses of one cell sum to 1 (less with kFirstBatch
/// when values were dropped).
struct HistogramBucket {
  double left = 0.0;
  double mass = 0.0;
};

/// Streaming statistics of one tensor; memory does not grow with the number of samples.
class Observer {
 public:
  virtual ~Observer() = default;

  /// Adds a batch of values of the cell grid's layout. Non-finite values are skipped and counted;
  /// empty batches ignored.
  virtual void observe(const float* values, const Shape& shape) = 0;

  /// Encodings of every grid cell. @throws Error(kNotReady) when nothing finite was observed.
  virtual std::vector<AffineEncoding> encodings(const AffineOptions& options) const = 0;

  /// Any finite value seen.
  virtual bool has_data() const = 0;
  /// Buckets of every grid cell, lowest first, from the first to the last that holds anything;
  /// empty for kMinMax.
  virtual std::vector<std::vector<HistogramBucket>> histograms() const { return {}; }
  std::int64_t num_values() const { return num_values_; }
  std::int64_t num_non_finite() const { return num_non_finite_; }

 protected:
  std::int64_t num_values_ = 0;
  std::int64_t num_non_finite_ = 0;
};

struct ObserverOptions {
  Scheme scheme = Scheme::kMinMax;
  double percentile = 100.0;  ///< percent, (0, 100]; only for kPercentile
  HistogramSupport histogram_support = HistogramSupport::kFirstBatch;
};

/// `shape`: shape of the tensor; only its channel and block axes matter (empty for per tensor).
std::unique_ptr<Observer> make_observer(const ObserverOptions& options,
                                        const Granularity& granularity, const Shape& shape);

}  // namespace BITSWEEP_EXPORT bitsweep
