#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/report.h"
#include "bitsweep/simulation.h"
#include "bitsweep/sweep.h"

namespace bitsweep::cli {

using Facts = std::vector<std::pair<std::string, std::string>>;

/// Makes the folder and proves that files can be written there. @throws Error(kIo).
void prepare_output_folder(const std::filesystem::path& folder);

/// The most sensitive groups, each quantizer once, and how many more there are.
std::string ranking_text(const SweepResult& result, const std::vector<GroupDetail>& details);

/// What will be done, before it starts.
std::string forecast_text(const SweepForecast& forecast);

/// The most sensitive groups by a further metric, in one line.
std::string worst_text(const MetricScores& scores);

/// How sure the most sensitive part is, and what it cost to find.
std::string stability_text(const Stability& stability);

/// The pairs of groups whose errors interact most.
std::string interactions_text(const Interactions& interactions, int pairs);

/// How much work the result took, against re-running the model for every score.
std::string cost_text(const SweepResult& result);

/// Writes results.json, run.json and report.html. @throws Error(kIo).
void write_results(const std::filesystem::path& folder, const Simulation& simulation,
                   const SweepResult& result, const Facts& facts, const std::string& next_command);

}  // namespace bitsweep::cli
