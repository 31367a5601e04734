#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/export.h"
#include "bitsweep/sweep.h"

namespace BITSWEEP_EXPORT bitsweep {

/// What a sensitivity page shows: one point per entry, x in the order given.
struct SensitivityPage {
  std::string title;
  std::string metric;
  bool higher_is_worse = false;
  std::vector<std::pair<std::string, double>> scores;
  std::vector<std::string> highlight_patterns;  ///< substrings offered as toggles
  std::string details_label;                    ///< column title of `details`; empty: no such column
  std::vector<std::string> details;             ///< one text per entry, or empty
  std::vector<std::pair<std::string, std::string>> facts;  ///< model, samples, time ... shown above the plot
};

/// Default toggles: projection weights of transformers.
std::vector<std::string> default_highlight_patterns();

/// Writes one HTML file that needs no network. @throws Error(kIo).
void write_sensitivity_page(const SensitivityPage& page, const std::filesystem::path& path);

/// Scores as JSON: {"ranking": [{"rank", "name", "score"[, "detail"]}], ...}; byte-identical for equal results.
std::string sweep_to_json(const SweepResult& result, const std::vector<std::pair<std::string, std::string>>& facts);

/// Writes text aside, then renames. @throws Error(kIo).
void write_text_file(const std::filesystem::path& path, const std::string& text);

}  // namespace bitsweep
