#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/metric.h"
#include "bitsweep/simulation.h"
#include "sweep_output.h"

namespace bitsweep::cli {

using Values = std::vector<std::pair<std::string, double>>;

/// What an analysis found, layers in topological order.
struct Analysis {
  MetricInfo metric;
  std::optional<double> float_score;
  Values whole;  ///< with weights, activations, or all quantized
  Values alone;
  std::vector<std::string> ranking;  ///< layers, the most sensitive one alone first
  Values all_others;
  Values mse;
  Facts facts;
};

/// Writes the pages, index.html that leads to them, and the JSON files. @throws Error(kIo).
void write_analysis(const std::filesystem::path& folder, const Simulation& simulation,
                    const Analysis& found, const std::string& next_command);

/// The most sensitive layers as a table, and the scores of the whole model.
std::string analysis_text(const Analysis& found);

}  // namespace bitsweep::cli
