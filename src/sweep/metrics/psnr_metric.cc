#include "sweep/metrics/psnr_metric.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sweep/metrics/sums.h"

namespace bitsweep::scoring {

double psnr_from(double min, double max, double squared_error, double count, double max_db) {
  if (squared_error > static_cast<double>(std::numeric_limits<float>::max())) return -max_db;
  // Floors of the field's usual definition: an all-zero output has a range, and equal outputs have
  // some noise.
  constexpr double kSmallestRange = 1e-10;
  const double range = std::max({max - min, std::abs(min), std::abs(max), kSmallestRange});
  const double noise =
      std::max(std::sqrt(squared_error / count), kSmallestRange * std::pow(10.0, -max_db / 20.0));
  return std::clamp(20.0 * std::log10(range / noise), -max_db, max_db);
}

void PsnrMetric::set_range(OutputReference& output, std::span<const float> expected) {
  const MinMax range = min_max(expected);
  output.facts = {range.min, range.max};
}

bool PsnrMetric::compare(const OutputReference& reference, std::span<const float> expected,
                         std::span<const float> actual, std::span<double> sums) {
  sums[kError] = sum_squared_error(expected, actual);
  sums[kCount] = static_cast<double>(actual.size());
  sums[kMin] = reference.facts[0];
  sums[kMax] = reference.facts[1];
  return std::isfinite(sums[kError]);
}

void PsnrMetric::join(std::span<double> into, std::span<const double> from) const {
  into[kError] += from[kError];
  into[kCount] += from[kCount];
  into[kMin] = std::min(into[kMin], from[kMin]);
  into[kMax] = std::max(into[kMax], from[kMax]);
}

double PsnrMetric::score_of(std::span<const double> sums) const {
  return psnr_from(sums[kMin], sums[kMax], sums[kError], sums[kCount], options().max_db);
}

}  // namespace bitsweep::scoring
