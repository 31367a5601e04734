#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bitsweep/mix.h"

namespace bitsweep::cli {

/// What was asked for.
struct MixRequest {
  std::string model;
  std::string data;
  std::string rules;
  std::string cost;
  std::vector<MixTarget> targets;
  std::vector<std::string> outputs;  ///< that count; empty: all
};

/// Writes frontier.csv, frontier.json and frontier.html, and, when something was chosen,
/// policy.json, the QDQ model and its encodings. @throws Error(kIo) and what the export throws.
void write_mix(const std::filesystem::path& folder, const Simulation& simulation,
               const MixResult& result, const MixRequest& request);

/// The curve as a table, then what was chosen and how sure that is.
std::string mix_text(const MixResult& result, const MixRequest& request);

/// The files that people open, and what to do with them.
std::string saved_text(const std::filesystem::path& folder, const MixResult& result,
                       const MixRequest& request);

}  // namespace bitsweep::cli
