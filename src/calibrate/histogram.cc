#include "calibrate/histogram.h"

#include <algorithm>
#include <cmath>

#include "calibrate/first_batch_histogram.h"
#include "calibrate/growing_histogram.h"

namespace bitsweep {

double Histogram::left(std::int64_t index) const {
  return std::floor(first_position + static_cast<double>(index - first)) * width;
}

float Histogram::middle(std::int64_t index) const {
  return static_cast<float>(left(index) + width / 2.0);
}

std::int64_t Histogram::clamped_index(double value) const {
  const double position = std::floor(value / width);
  // Compared as doubles: a position may be too large for an integer.
  const double low = static_cast<double>(first);
  const double high = static_cast<double>(first + count - 1);
  return static_cast<std::int64_t>(std::clamp(position, low, high));
}

std::unique_ptr<HistogramBuilder> make_histogram_builder(HistogramSupport support) {
  if (support == HistogramSupport::kFirstBatch) return std::make_unique<FirstBatchHistogram>();
  return std::make_unique<GrowingHistogram>();
}

}  // namespace bitsweep
