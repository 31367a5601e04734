#include "bitsweep/interactions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "bitsweep/error.h"
#include "bitsweep/names.h"
#include "sweep/metrics/psnr_metric.h"

namespace bitsweep {
namespace {

// Rows of a configuration, each once: tied groups are one change.
std::vector<std::size_t> rows_of(const Interactions& interactions,
                                 std::span<const std::string> configuration) {
  std::map<std::string, std::size_t, std::less<>> row;
  for (std::size_t i = 0; i < interactions.groups.size(); ++i)
    row.emplace(interactions.groups[i], interactions.rows[i]);
  std::vector<std::size_t> chosen;
  for (const std::string& name : configuration) {
    const auto it = row.find(name);
    if (it == row.end()) {
      throw Error(ErrorCode::kNotFound, "predict", "the sweep has no group \"" + name + "\"",
                  did_you_mean(name, interactions.groups) + "use names of the sweep's scores");
    }
    chosen.push_back(it->second);
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

double score_from(std::string_view metric, const Interactions::Output& output, double error,
                  double max_db) {
  if (metric == "mse") return error / output.num_values;
  if (!std::isfinite(error)) return -max_db;
  error = std::max(error, 0.0);  // below zero only by rounding
  if (metric == "psnr")
    return scoring::psnr_from(output.min, output.max, error, output.num_values, max_db);
  if (error == 0.0) return max_db;
  if (output.signal_energy == 0.0) return -max_db;
  return std::clamp(10.0 * (std::log10(output.signal_energy) - std::log10(error)), -max_db, max_db);
}

template <class ErrorOf>
double worst_score(const std::vector<Interactions::Output>& outputs, std::string_view metric,
                   double max_db, ErrorOf error_of) {
  if (metric != "sqnr" && metric != "psnr" && metric != "mse") {
    throw Error(ErrorCode::kInvalidArgument, "predict",
                "the metric \"" + std::string(metric) + "\" does not follow from squared errors",
                "use one of: mse, psnr, sqnr");
  }
  const bool higher = metric != "mse";
  double worst =
      higher ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  for (const Interactions::Output& output : outputs) {
    if (output.num_values == 0.0) continue;
    const double score = score_from(metric, output, error_of(output), max_db);
    worst = higher ? std::min(worst, score) : std::max(worst, score);
  }
  return worst;
}

}  // namespace

double Interactions::predict(std::span<const std::string> configuration, std::string_view metric,
                             double max_db) const {
  const std::vector<std::size_t> chosen = rows_of(*this, configuration);
  return worst_score(outputs, metric, max_db, [&](const Output& output) {
    double error = 0.0;
    for (const std::size_t a : chosen) {
      for (const std::size_t b : chosen) error += output.gram[a * num_rows + b];
    }
    return error;
  });
}

double Interactions::predict_additive(std::span<const std::string> configuration,
                                      std::string_view metric, double max_db) const {
  const std::vector<std::size_t> chosen = rows_of(*this, configuration);
  return worst_score(outputs, metric, max_db, [&](const Output& output) {
    double error = 0.0;
    for (const std::size_t a : chosen) error += output.gram[a * num_rows + a];
    return error;
  });
}

std::vector<InteractingPair> Interactions::strongest_pairs(std::size_t count,
                                                           std::size_t output) const {
  std::vector<InteractingPair> pairs;
  if (output >= outputs.size()) return pairs;
  const std::vector<double>& gram = outputs[output].gram;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t j = i + 1; j < groups.size(); ++j) {
      const std::size_t a = rows[i];
      const std::size_t b = rows[j];
      const double both = gram[a * num_rows + a] + gram[b * num_rows + b];
      const double energy = 2.0 * gram[a * num_rows + b];
      if (a == b || !(both > 0.0) || !std::isfinite(energy)) continue;
      pairs.push_back({groups[i], groups[j], energy / both, energy});
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const auto& x, const auto& y) {
    return std::abs(x.energy) > std::abs(y.energy);
  });
  if (pairs.size() > count) pairs.resize(count);
  return pairs;
}

}  // namespace bitsweep
