#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bitsweep/calibration.h"

namespace bitsweep {

/// Values of one cell, counted in buckets of equal width on a lattice through zero. Only the
/// buckets that hold something are kept, so that the many small cells of a blockwise weight stay
/// small.
struct Histogram {
  struct Bucket {
    std::int64_t index = 0;  // on the lattice
    double mass = 0.0;
  };

  HistogramSupport support = HistogramSupport::kFirstBatch;
  double width = 0.0;
  std::int64_t first = 0;       // index of the lowest bucket of the support
  std::int64_t count = 0;       // buckets of the support
  double first_position = 0.0;  // lower end of the support in widths, before it is made whole
  double min = 0.0;  // what a range covers when nothing is clipped: the left edges of the outer
                     // buckets (first
  double max = 0.0;  // batch, as in the reference), or the lowest and highest value (growing)
  std::vector<Bucket> buckets;  // by ascending index; none when only zeros were seen

  /// Left edge of a bucket.
  double left(std::int64_t index) const;
  /// Middle of a bucket, as the estimators see the values in it.
  float middle(std::int64_t index) const;
  /// Bucket of a value, kept inside the support.
  std::int64_t clamped_index(double value) const;
};

/// Builds the histogram of one cell batch by batch.
class HistogramBuilder {
 public:
  virtual ~HistogramBuilder() = default;
  /// Adds a batch; values that are not finite are skipped. Returns how many those were.
  virtual std::int64_t add(std::span<const float> values) = 0;
  virtual Histogram histogram() const = 0;
};

std::unique_ptr<HistogramBuilder> make_histogram_builder(HistogramSupport support);

}  // namespace bitsweep
