#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace bitsweep::cli {

/// Help of the program and its commands: usage with what is required, options under titles, lines
/// of 100 columns.
void use_help_layout(CLI::App* app);

/// Options added to the command from here on stand under this title.
void begin_options(CLI::App* command, const std::string& title);

/// The option takes one of these words: shown in the help, suggested for a typo.
void take_one_of(CLI::Option* option, const std::vector<std::string>& words);

/// The option takes whole numbers from `least` on: "N" in the help.
void take_whole_numbers(CLI::Option* option, std::int64_t least,
                        std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// Numbers that an option takes.
struct NumberRange {
  std::optional<double> above;
  std::optional<double> least;
  std::optional<double> most;
};
void take_numbers(CLI::Option* option, const std::string& type_name, const NumberRange& range = {});

/// What is wrong with a command line, and where to read more.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv);

}  // namespace bitsweep::cli
