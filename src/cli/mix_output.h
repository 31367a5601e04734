#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bitsweep/mix.h"

namespace bitsweep::cli {

/// Writes frontier.csv, frontier.json and frontier.html, and, when something was chosen,
/// policy.json, the QDQ model and its encodings. @throws Error(kIo) and what the export throws.
void write_mix(const std::filesystem::path& folder, const Simulation& simulation,
               const MixResult& result, const std::string& cost,
               const std::vector<MixTarget>& targets);

/// The curve as a table, then what was chosen and how sure that is.
std::string mix_text(const MixResult& result, const std::string& cost);

}  // namespace bitsweep::cli
