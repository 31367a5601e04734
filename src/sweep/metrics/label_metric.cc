#include "sweep/metrics/label_metric.h"

#include <algorithm>
#include <cmath>

#include "bitsweep/error.h"

namespace bitsweep::scoring {

void LabelMetric::describe(OutputReference& output) const {
  const std::string where = name();
  const std::string what = "output " + std::to_string(output.index);
  if (output.labels.empty()) {
    throw Error(ErrorCode::kInvalidData, where, "it compares with labels, and there are none",
                "give labels with the samples, or use a metric that compares with the float model");
  }
  if (output.labels.size() != output.rows) {
    throw Error(ErrorCode::kInvalidData, where,
                what + " has " + std::to_string(output.rows) + " rows and the sample " +
                    std::to_string(output.labels.size()) + " labels",
                "choose the output that the labels belong to, or give one for each row of this "
                "one, shape " +
                    shape_text(output.shape) + " without the last axis");
  }
  const std::int64_t largest = *std::max_element(output.labels.begin(), output.labels.end());
  if (largest >= static_cast<std::int64_t>(output.columns)) {
    throw Error(ErrorCode::kInvalidData, where,
                "label " + std::to_string(largest) + " is beyond the " +
                    std::to_string(output.columns) + " classes of " + what,
                "count classes from 0");
  }
  output.tensor = Tensor();
}

bool LabelMetric::measure(const OutputReference& reference, std::span<const float> simulated,
                          std::span<double> sums) const {
  for (std::size_t row = 0; row < reference.rows; ++row) {
    const std::int64_t label = reference.labels[row];
    if (label < 0) continue;
    const double value = measure_row(simulated.subspan(row * reference.columns, reference.columns),
                                     static_cast<std::size_t>(label));
    if (!std::isfinite(value)) return false;
    sums[kTotal] += value;
    sums[kRows] += 1.0;
  }
  return true;
}

}  // namespace bitsweep::scoring
