#include "analyze_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bitsweep/analysis.h"
#include "bitsweep/report.h"
#include "words.h"

namespace bitsweep::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRowsShown = 20;

double value_of(const Values& values, const std::string& name) {
  const auto row = std::find_if(values.begin(), values.end(),
                                [&](const auto& value) { return value.first == name; });
  return row == values.end() ? std::numeric_limits<double>::quiet_NaN() : row->second;
}

/// "27.45 dB with weights only, 9.1 dB with all quantized, 0.97 in float".
std::string whole_text(const Analysis& found) {
  const std::string& unit = found.metric.unit;
  std::string text;
  for (const auto& [part, score] : found.whole) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", score_text(score, unit),
                        part == "all" ? "with all quantized" : "with " + part + " only");
  }
  if (found.float_score) text += fmt::format(", {} in float", score_text(*found.float_score, unit));
  return text;
}

std::string mse_text(const Analysis& found, const std::string& layer) {
  const double mse = value_of(found.mse, layer);
  return std::isnan(mse) ? "-" : fmt::format("{:.3g}", mse);
}

/// The ranking of the layers, and the way to the other pages.
void write_index(const fs::path& folder, const Analysis& found, const std::string& next_command) {
  const std::string& unit = found.metric.unit;
  SensitivityPage page;
  page.title = "Where the model loses quality";
  page.metric = unit.empty() ? found.metric.name : fmt::format("{} ({})", found.metric.name, unit);
  page.higher_is_worse = found.metric.better == Better::kLower;
  page.scores = found.alone;
  page.details_label = "With all others quantized; error of its output";
  for (const auto& [layer, unused] : found.alone) {
    page.details.push_back(fmt::format(
        "{}; {}", score_text(value_of(found.all_others, layer), unit), mse_text(found, layer)));
  }
  page.facts = found.facts;
  std::vector<std::string> worst;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, found.ranking.size()); ++i) {
    worst.push_back(found.ranking[i] + " at " +
                    score_text(value_of(found.alone, found.ranking[i]), unit));
  }
  page.intro.sentences = {
      fmt::format("Most sensitive alone: {}.", fmt::join(worst, ", ")),
      "The plot and the table have the score with one layer alone quantized.",
      "The whole model: " + whole_text(found) + ".",
  };
  page.intro.links = {
      {"per_layer_quant_disabled.html", "All but one layer quantized"},
      {"per_layer_mse_loss.html", "Error of each layer's output"},
      {"min_max_ranges/activations.html", "Ranges of activations"},
      {"min_max_ranges/weights.html", "Ranges of weights"},
      {"min_max_ranges/", "Ranges of each channel"},
      {"activations_pdf/", "Histograms of activations"},
      {"weights_pdf/", "Histograms of weights"},
  };
  std::erase_if(page.intro.links,
                [&](const auto& link) { return !fs::exists(folder / link.first); });
  page.intro.next_command = next_command;
  write_sensitivity_page(page, folder / "index.html");
}

}  // namespace

void write_analysis(const fs::path& folder, const Simulation& simulation, const Analysis& found,
                    const std::string& next_command) {
  const std::string label = found.metric.unit.empty()
                                ? found.metric.name
                                : found.metric.name + " (" + found.metric.unit + ")";
  write_layer_values(folder, "per_layer_quant_enabled", "Score with only one layer quantized",
                     label, found.alone);
  write_layer_values(folder, "per_layer_quant_disabled", "Score with all but one layer quantized",
                     label, found.all_others);
  write_layer_values(folder, "per_layer_mse_loss", "Error of each layer's output", "MSE",
                     found.mse);
  write_quantizer_ranges(simulation, folder);
  if (simulation.options().scheme != Scheme::kMinMax)
    write_quantizer_histograms(simulation, folder);
  write_index(folder, found, next_command);
}

std::string analysis_text(const Analysis& found) {
  const std::string& unit = found.metric.unit;
  Table table({{"alone", true}, {"all others", true}, {"mse", true}, {"layer"}});
  for (std::size_t i = 0; i < std::min(found.ranking.size(), kRowsShown); ++i) {
    const std::string& layer = found.ranking[i];
    table.add({score_text(value_of(found.alone, layer), unit),
               score_text(value_of(found.all_others, layer), unit), mse_text(found, layer), layer});
  }
  std::string text = table.text();
  if (found.ranking.size() > kRowsShown)
    text += fmt::format("and {} less sensitive\n", found.ranking.size() - kRowsShown);
  text += "\nmodel   " + whole_text(found);
  return text + fmt::format("\nmetric  {}: {}; {} is better\n", found.metric.name,
                            found.metric.summary,
                            found.metric.better == Better::kHigher ? "higher" : "lower");
}

}  // namespace bitsweep::cli
