#pragma once

#include <string>
#include <vector>

namespace bitsweep::cli {

/// A command line as a shell reads it.
std::string shell_line(const std::vector<std::string>& words);

/// What a command was called with, as its options have it.
struct CommandInputs {
  std::string model{};
  std::string data{};
  std::string calibration_data{};  ///< empty: `data`
  std::vector<std::string> outputs{};
  std::string rules = "default";
};

/// The mix that follows a sweep or an analysis.
std::string next_mix(const CommandInputs& inputs);

}  // namespace bitsweep::cli
