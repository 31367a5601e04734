#pragma once

#include <memory>

#include "bitsweep/metric.h"
#include "sweep/metrics/output_metric.h"

namespace bitsweep::scoring {

/// One line of the metric table.
struct MetricEntry {
  MetricInfo info;
  std::unique_ptr<MetricAccumulator> (*make)(const MetricOptions& options);
};

/// Adds a line before main() starts; a duplicate name stops the program.
bool register_metric(MetricEntry entry);

/// The factory of a class made from MetricOptions.
template <class Metric>
std::unique_ptr<MetricAccumulator> make(const MetricOptions& options) {
  return std::make_unique<Metric>(options);
}

}  // namespace bitsweep::scoring

#define BITSWEEP_REGISTER_METRIC(...)      \
  [[maybe_unused]] const bool registered = \
      ::bitsweep::scoring::register_metric(::bitsweep::scoring::MetricEntry __VA_ARGS__)
