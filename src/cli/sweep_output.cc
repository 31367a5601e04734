#include "sweep_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "bitsweep/error.h"
#include "bitsweep/report.h"
#include "words.h"

namespace bitsweep::cli {
namespace {

constexpr std::size_t kRowsShown = 20;
// Some exporters make names of hundreds of characters.
constexpr std::size_t kLongestName = 64;
// Metrics in dB end there.
constexpr double kLostDb = -100.0;

/// Hashes fill lines and are compared by their beginning.
std::string short_fact(const std::string& name, const std::string& value) {
  constexpr std::size_t kHashShown = 12;
  return name == "model sha256" ? value.substr(0, kHashShown) : value;
}

}  // namespace

void prepare_output_folder(const std::filesystem::path& folder) {
  const auto fail = [&](const std::string& reason) {
    return Error(ErrorCode::kIo, "options",
                 "the output folder " + folder.string() + " cannot be written: " + reason,
                 "choose another one with -o");
  };
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) throw fail(failure.message());
  if (!std::filesystem::is_directory(folder)) throw fail("it is a file");
  const std::filesystem::path probe = folder / ".bitsweep-probe";
  try {
    write_text_file(probe, "");
  } catch (const Error& error) {
    throw fail(error.what());
  }
  std::filesystem::remove(probe, failure);
}

std::string ranking_text(const SweepResult& result, const std::vector<GroupDetail>& details) {
  Table table({{"rank", true}, {result.metric, true}, {"name"}, {"what"}});
  bool ties = false;
  bool cut = false;
  std::size_t num_shown = 0;
  std::size_t num_left = 0;
  for (std::size_t i = 0; i < result.scores.size(); ++i) {
    if (details[i].repeats) continue;
    if (num_shown == kRowsShown) {
      ++num_left;
      continue;
    }
    ++num_shown;
    const SweepScore& score = result.scores[i];
    std::size_t last = i;  // of those that share the quantizer
    while (last + 1 < details.size() && details[last + 1].repeats) ++last;
    const bool tied = result.scores[last].tied_with_next;
    ties = ties || tied;
    cut = cut || score.name.size() > kLongestName;
    table.add({std::to_string(score.rank) + (tied ? "~" : " "),
               score_text(score.score, result.unit), shortened(score.name, kLongestName),
               details[i].text});
  }
  std::string text = table.text();
  if (ties) text += "~ the samples leave open whether this or the next one is more sensitive\n";
  if (result.unit == "dB" && !result.scores.empty() && result.scores.front().score <= kLostDb)
    text += "-100 dB: outputs that are NaN, infinite, of another size or lost altogether\n";
  if (num_left > 0) text += fmt::format("... and {} more\n", num_left);
  if (cut) text += "long names are cut: results.json has them whole\n";
  return text;
}

std::string forecast_text(const SweepForecast& forecast) {
  std::string text = plural(forecast.num_states, "state");
  if (forecast.num_samples >= 0)
    text += " on " + plural(forecast.num_samples, "sample") + ": " +
            plural(forecast.num_states * forecast.num_samples, "evaluation");
  return text + fmt::format(", about {:.1f} float passes per sample instead of {}",
                            forecast.forward_equivalents_per_sample, forecast.num_states);
}

std::string worst_text(const MetricScores& scores) {
  constexpr std::size_t kNames = 3;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kNames, scores.scores.size()); ++i) {
    names.push_back(shortened(scores.scores[i].name, kLongestName) + " " +
                    score_text(scores.scores[i].score, scores.unit));
  }
  std::string text = fmt::format("by {}: {}", scores.metric, fmt::join(names, ", "));
  if (scores.float_score) text += "; float model " + score_text(*scores.float_score, scores.unit);
  return text;
}

std::string stability_text(const Stability& stability) {
  return fmt::format("{} {}, each with a confidence of {:.1f}% or more, after {} of {} evaluations",
                     plural(static_cast<std::int64_t>(stability.selected.size()), "group"),
                     stability.settled ? "found" : "found, not all for sure",
                     100.0 * stability.confidence, stability.num_evaluations,
                     stability.num_without_stopping);
}

std::string interactions_text(const Interactions& interactions, int pairs) {
  Table table({{"interaction", true}, {"pair"}});
  for (const InteractingPair& pair : interactions.strongest_pairs(static_cast<std::size_t>(pairs)))
    table.add({fmt::format("{:+.2f}", pair.interaction), pair.first + " and " + pair.second});
  return "pairs whose errors add up (+1: fully) or cancel (-1):\n" + table.text();
}

std::string cost_text(const SweepResult& result) {
  return fmt::format("{}, {}, {:.1f} float passes per sample for {} of {}",
                     duration_text(result.elapsed_s), plural(result.num_runs, "run"),
                     result.forward_equivalents,
                     plural(static_cast<std::int64_t>(result.scores.size()), "score"),
                     plural(result.num_samples, "sample"));
}

void write_results(const std::filesystem::path& folder, const Simulation& simulation,
                   const SweepResult& result, const Facts& facts, const std::string& next_command) {
  write_text_file(folder / "results.json", sweep_to_json(result, facts));
  write_text_file(folder / "run.json", sweep_run_info_to_json(result));
  SensitivityPage page = sensitivity_page(simulation, result);
  for (const auto& [name, value] : facts) page.facts.emplace_back(name, short_fact(name, value));
  page.facts.emplace_back("cost", cost_text(result));
  page.intro.next_command = next_command;
  write_sensitivity_page(page, folder / "report.html");
}

}  // namespace bitsweep::cli
