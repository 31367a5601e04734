#include "next_command.h"

#include <algorithm>
#include <string_view>

namespace bitsweep::cli {
namespace {

bool is_safe(char c) {
  constexpr std::string_view kSafe = "_-./,:=@%+";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kSafe.find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && std::all_of(word.begin(), word.end(), is_safe)) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

std::string next_mix(const CommandInputs& inputs) {
  std::vector<std::string> words = {"bitsweep", "mix", inputs.model, "--data", inputs.data};
  if (!inputs.calibration_data.empty())
    words.insert(words.end(), {"--calibration-data", inputs.calibration_data});
  for (const std::string& name : inputs.outputs) words.insert(words.end(), {"--outputs", name});
  // A cost: what quality is within reach, only the mix can tell.
  words.insert(words.end(), {"--candidates", "W8A8,W8A16", "--target", "bops<=0.8", "-o", "mix"});
  if (inputs.rules != "default") words.insert(words.end(), {"--rules", inputs.rules});
  return shell_line(words);
}

}  // namespace bitsweep::cli
