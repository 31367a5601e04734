#include "calibrate/methods/histogram_observer.h"

#include <algorithm>
#include <cmath>

#include "bitsweep/error.h"
#include "calibrate/cell_values.h"
#include "calibrate/methods/entropy.h"
#include "calibrate/methods/mse.h"
#include "calibrate/methods/percentile.h"
#include "calibrate/methods/tf_enhanced.h"
#include "calibrate/observer_errors.h"

namespace bitsweep {
namespace {

// What the reference gives a cell in which all values are zero.
AffineEncoding reference_zero_encoding(Scheme scheme, const AffineOptions& options) {
  const bool percentile = scheme == Scheme::kPercentile;
  double steps = std::ldexp(1.0, options.bitwidth) - 1.0;
  if (percentile && options.strict_symmetric) steps -= 1.0;
  AffineEncoding e;
  e.delta = 2.0 / steps;
  e.offset = std::floor(-1.0 / e.delta);
  e.min = e.delta * e.offset;
  e.max = e.min + e.delta * steps;
  return percentile ? make_encoding(e.min, e.max, options) : e;
}

}  // namespace

HistogramObserver::HistogramObserver(const ObserverOptions& options, const Granularity& granularity,
                                     const Shape& shape)
    : options_(options), granularity_(granularity) {
  // The frozen support is a matter of compatibility, which only the schemes of the reference have.
  if (options.scheme != Scheme::kTfEnhanced && options.scheme != Scheme::kPercentile) {
    options_.histogram_support = HistogramSupport::kGrowing;
  }
  cells_.resize(static_cast<std::size_t>(num_elements(grid_shape(granularity, shape))));
  for (auto& cell : cells_) cell = make_histogram_builder(options_.histogram_support);
}

void HistogramObserver::observe(const float* values, const Shape& shape) {
  const GridLayout layout(granularity_, shape);
  check_num_cells(layout.num_cells(), cells_.size(), shape);
  if (layout.size() == 0) return;
  const CellValues by_cell(layout, values);
  std::int64_t not_finite = 0;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    not_finite += cells_[i]->add(by_cell.cell(static_cast<std::int64_t>(i)));
  }
  count(values, layout.size(), not_finite);
}

AffineEncoding HistogramObserver::encoding(const Histogram& histogram,
                                           const AffineOptions& options) const {
  if (histogram.buckets.empty()) {
    const bool growing = options_.histogram_support == HistogramSupport::kGrowing;
    return growing ? make_encoding(0.0, 0.0, options)
                   : reference_zero_encoding(options_.scheme, options);
  }
  switch (options_.scheme) {
    case Scheme::kTfEnhanced:
      return tf_enhanced_encoding(histogram, options);
    case Scheme::kPercentile:
      return percentile_encoding(histogram, options_.percentile, options);
    case Scheme::kMse:
      return mse_encoding(histogram, options);
    case Scheme::kEntropy:
      return entropy_encoding(histogram, options);
    case Scheme::kMinMax:
      break;
  }
  throw Error(ErrorCode::kInvalidArgument, "calibrate", "min_max keeps no histogram",
              "use another scheme");
}

std::vector<AffineEncoding> HistogramObserver::encodings(const AffineOptions& options) const {
  if (!has_data()) throw_no_data(num_values_);
  if (options.zero_point_shift != 0.0) {
    throw Error(ErrorCode::kInvalidArgument, "calibrate",
                std::string("a shifted zero point does not work with scheme ") +
                    std::string(scheme_name(options_.scheme)),
                "use min_max, or drop the shift");
  }
  std::vector<AffineEncoding> encodings;
  encodings.reserve(cells_.size());
  for (const auto& cell : cells_) encodings.push_back(encoding(cell->histogram(), options));
  return encodings;
}

bool HistogramObserver::only_zeros() const {
  return std::all_of(cells_.begin(), cells_.end(),
                     [](const auto& cell) { return cell->histogram().buckets.empty(); });
}

std::vector<std::vector<HistogramBucket>> HistogramObserver::histograms() const {
  std::vector<std::vector<HistogramBucket>> result;
  result.reserve(cells_.size());
  for (const auto& cell : cells_) {
    const Histogram histogram = cell->histogram();
    std::vector<HistogramBucket>& buckets = result.emplace_back();
    for (const Histogram::Bucket& bucket : histogram.buckets) {
      // Empty buckets in between are written out: readers expect edges at equal distances.
      if (!buckets.empty()) {
        std::int64_t index =
            histogram.buckets.front().index + static_cast<std::int64_t>(buckets.size());
        for (; index < bucket.index; ++index) buckets.push_back({histogram.left(index), 0.0});
      }
      buckets.push_back({histogram.left(bucket.index), bucket.mass});
    }
  }
  return result;
}

}  // namespace bitsweep
