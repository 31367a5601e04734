#include "help.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>

#include "bitsweep/names.h"

namespace bitsweep::cli {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kTextColumn = 30;

/// Without what its checks add.
std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return option.get_type_size() == 0 ? "" : type.substr(0, type.find(':'));
}

/// "--data PATH", or the word that stands for a positional.
std::string short_form(const CLI::Option& option) {
  const std::string type = type_of(option);
  if (option.get_positional()) return type.empty() ? option.get_name() : type;
  const std::vector<std::string>& names = option.get_snames();
  const std::string name = names.empty() ? "--" + option.get_lnames().front() : "-" + names.front();
  return type.empty() ? name : name + " " + type;
}

/// "-o, --output DIR".
std::string full_form(const CLI::Option& option) {
  if (option.get_positional()) return short_form(option);
  std::string names;
  for (const std::string& name : option.get_snames()) names += "-" + name + ", ";
  names += "--" + option.get_lnames().front();
  const std::string type = type_of(option);
  return type.empty() ? names : names + " " + type;
}

std::string text_of(const CLI::Option& option) {
  std::string text = option.get_description();
  if (option.get_required()) return text + " (required)";
  std::string value = option.get_default_str();
  if (value.starts_with('[')) value = value.substr(1, value.size() - 2);  // of a list
  return value.empty() ? text : fmt::format("{} (default: {})", text, value);
}

/// A name and what it means, in lines of kWidth; a long name has a line of its own.
std::string row(const std::string& name, const std::string& text) {
  std::string out = "  " + name;
  std::size_t column = out.size();
  const auto new_line = [&] {
    out += "\n" + std::string(kTextColumn, ' ');
    column = kTextColumn;
  };
  if (column + 2 > kTextColumn) {
    new_line();
  } else {
    out.append(kTextColumn - column, ' ');
    column = kTextColumn;
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (column > kTextColumn && column + 1 + end - at > kWidth) new_line();
    if (column > kTextColumn) {
      out += ' ';
      ++column;
    }
    out += text.substr(at, end - at);
    column += end - at;
    at = end + 1;
  }
  return out + "\n";
}

using Options = std::vector<const CLI::Option*>;

class HelpLayout : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const override {
    std::string out = fmt::format("{}\n\nUsage: {}", app->get_description(), name);
    // Who reads this has found --help.
    const Options options =
        app->get_options([&](const CLI::Option* o) { return o != app->get_help_ptr(); });
    for (const CLI::Option* option : options) {
      if (option->get_required()) out += " " + short_form(*option);
    }
    const std::vector<const CLI::App*> commands =
        app->get_subcommands([](const CLI::App*) { return true; });
    out += commands.empty() ? " [options]\n" : " COMMAND [options]\n";
    if (!commands.empty()) {
      out += "\nCommands:\n";
      for (const CLI::App* command : commands)
        out += row(command->get_name(), command->get_description());
      out += fmt::format("\n`{} COMMAND --help` says more about each.\n", name);
    }
    for (const std::string& group : app->get_groups()) {
      std::string rows;
      for (const CLI::Option* option : options) {
        if (option->get_group() == group) rows += row(full_form(*option), text_of(*option));
      }
      if (!rows.empty()) out += fmt::format("\n{}:\n{}", group, rows);
    }
    return out;
  }
};

/// Options that the command does not have, words beyond its last one, or neither.
std::string extra_words(const CLI::App& command, const std::string& help) {
  const std::vector<std::string> words = command.remaining();
  if (words.empty()) return "";
  const std::string& name = command.get_name();
  const auto option = std::find_if(words.begin(), words.end(),
                                   [](const std::string& word) { return word.starts_with('-'); });
  if (option == words.end())
    return fmt::format("{} takes no further word such as \"{}\"; {}", name, words.front(), help);
  const std::string unknown = option->substr(0, option->find('='));
  std::vector<std::string> known;
  for (const CLI::Option* has : command.get_options()) {
    for (const std::string& text : has->get_lnames()) known.push_back(text);
  }
  const std::size_t letters = std::min(unknown.find_first_not_of('-'), unknown.size());
  const std::string near = closest_name(unknown.substr(letters), known);
  return fmt::format("{} has no {}; {}{}", name, unknown,
                     near.empty() ? "" : fmt::format("did you mean --{}? ", near), help);
}

/// The number that is the whole word.
template <typename Number>
std::optional<Number> number_in(const std::string& word) {
  Number value{};
  const char* const end = word.data() + word.size();
  const auto [next, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc() || next != end) return std::nullopt;
  return value;
}

}  // namespace

void use_help_layout(CLI::App* app) { app->formatter(std::make_shared<HelpLayout>()); }

void begin_options(CLI::App* command, const std::string& title) {
  command->option_defaults()->group(title);
}

void take_one_of(CLI::Option* option, const std::vector<std::string>& words) {
  option->type_name(fmt::format("{}", fmt::join(words, "|")));
  const auto check = [words](const std::string& word) -> std::string {
    if (std::find(words.begin(), words.end(), word) != words.end()) return "";
    const Error error = unknown_name("", "choice", word, words);
    return std::string(error.what()).substr(2);
  };
  option->check(check, "", "");
}

void take_whole_numbers(CLI::Option* option, std::int64_t least, std::int64_t most) {
  option->type_name("N");
  const bool is_open = most == std::numeric_limits<std::int64_t>::max();
  const std::string range =
      is_open ? fmt::format("of at least {}", least) : fmt::format("from {} to {}", least, most);
  option->check(
      [=](const std::string& word) -> std::string {
        const std::optional<std::int64_t> value = number_in<std::int64_t>(word);
        if (value && *value >= least && *value <= most) return "";
        return fmt::format("\"{}\" is no whole number {}", word, range);
      },
      "", "");
}

void take_numbers(CLI::Option* option, const std::string& type_name, const NumberRange& range) {
  option->type_name(type_name);
  std::string text = range.above ? fmt::format(" above {}", *range.above) : "";
  if (range.least) text += fmt::format(" of at least {}", *range.least);
  if (range.most) text += fmt::format(" and at most {}", *range.most);
  option->check(
      [range, text](const std::string& word) -> std::string {
        const std::optional<double> value = number_in<double>(word);
        const bool fits =
            value && std::isfinite(*value) && !(range.above && *value <= *range.above) &&
            !(range.least && *value < *range.least) && !(range.most && *value > *range.most);
        return fits ? "" : fmt::format("\"{}\" is no number{}", word, text);
      },
      "", "");
}

std::string usage_text(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (!app.get_subcommands().empty()) {
    const CLI::App& command = *app.get_subcommands().front();
    const std::string help = fmt::format("see `bitsweep {} --help`", command.get_name());
    const std::string extra = extra_words(command, help);
    return "options: " + (extra.empty() ? fmt::format("{}; {}", error.what(), help) : extra);
  }
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(command->get_name());
  if (argc >= 2) return unknown_name("options", "command", argv[1], known).what();
  return fmt::format("options: no command is given; use one of: {}", fmt::join(known, ", "));
}

}  // namespace bitsweep::cli
