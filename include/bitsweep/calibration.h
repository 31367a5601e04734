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
enum class Scheme { kMinMax, kTfEnhanced, kPercentile };

/// "min_max" (alias "tf"), "tf_enhanced", "percentile". @throws Error(kInvalidArgument) naming the known ones.
Scheme parse_scheme(std::string_view name);
std::string_view scheme_name(Scheme scheme);

/// Streaming statistics of one tensor; memory does not grow with the number of samples.
class Observer {
 public:
  virtual ~Observer() = default;

  /// Adds a batch of values of the cell grid's layout. Non-finite values are skipped and counted; empty batches ignored.
  virtual void observe(const float* values, const Shape& shape) = 0;

  /// Encodings of every grid cell. @throws Error(kNotReady) when nothing finite was observed.
  virtual std::vector<AffineEncoding> encodings(const AffineOptions& options) const = 0;

  virtual bool has_data() const = 0;
  std::int64_t num_values() const { return num_values_; }
  std::int64_t num_non_finite() const { return num_non_finite_; }

 protected:
  std::int64_t num_values_ = 0;
  std::int64_t num_non_finite_ = 0;
};

struct ObserverOptions {
  Scheme scheme = Scheme::kMinMax;
  double percentile = 100.0;  ///< percent, (0, 100]; only for kPercentile
};

/// `shape`: shape of the tensor; only its channel and block axes matter (empty for per tensor).
std::unique_ptr<Observer> make_observer(const ObserverOptions& options, const Granularity& granularity, const Shape& shape);

}  // namespace bitsweep
