#include "sweep_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <system_error>

#include "bitsweep/error.h"
#include "bitsweep/report.h"
#include "sentences.h"
#include "words.h"

namespace bitsweep::cli {
namespace {

constexpr std::size_t kRowsShown = 20;
// Metrics in dB end there.
constexpr double kLostDb = -100.0;

/// Rows of the result in the order of the network: a plot then shows where the sensitive parts are.
/// The quantizers of an operator stand together.
std::vector<std::size_t> network_order(const Simulation& simulation, const SweepResult& result) {
  std::map<std::string, std::size_t> place;
  const std::map<std::string, std::string> owner = operator_of_tensor(simulation);
  for (const OperatorInfo& op : simulation.operators()) place.emplace(op.name, place.size());
  const auto place_of = [&](const std::string& name) {
    const auto op = owner.find(name);
    const auto found = place.find(op == owner.end() ? name : op->second);
    return found == place.end() ? place.size() : found->second;
  };
  std::vector<std::pair<std::size_t, std::size_t>> rows;
  for (std::size_t i = 0; i < result.scores.size(); ++i) {
    rows.emplace_back(place_of(result.scores[i].name), i);
  }
  std::sort(rows.begin(), rows.end());
  std::vector<std::size_t> order;
  for (const auto& [position, row] : rows) order.push_back(row);
  return order;
}

/// Role and format; tensors that are tied to another row say so, which says how many they are.
std::map<std::string, GroupDetail> quantizer_details(const Simulation& simulation,
                                                     const SweepResult& result) {
  std::map<std::string, GroupDetail> details;
  for (const SweepScore& score : result.scores) details[score.name];
  std::map<std::string, std::int64_t> num_tied;
  const std::vector<TensorReport> rows = simulation.describe();
  for (const TensorReport& row : rows) {
    const auto detail = details.find(row.tensor);
    if (detail == details.end()) continue;
    detail->second.repeats = details.contains(row.tied_to);
    if (detail->second.repeats) ++num_tied[row.tied_to];
    detail->second.text =
        row.tied_to.empty() ? row.role + ", " + row.format : row.role + ", tied to " + row.tied_to;
  }
  for (const auto& [name, count] : num_tied)
    details[name].text += ", shared by " + plural(count, "more tensor");
  return details;
}

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

std::vector<GroupDetail> describe_groups(const Simulation& simulation, const SweepResult& result,
                                         const std::vector<SweepGroup>& groups, GroupKind kind) {
  std::map<std::string, GroupDetail> by_name;
  if (kind == GroupKind::kName) {
    for (const SweepGroup& group : groups)
      by_name[group.name].text =
          plural(static_cast<std::int64_t>(group.tensors.size()), "quantizer");
  } else if (kind == GroupKind::kOperator) {
    for (const OperatorInfo& op : simulation.operators()) by_name[op.name].text = op.type;
  } else {
    by_name = quantizer_details(simulation, result);
  }
  std::vector<GroupDetail> details;
  details.reserve(result.scores.size());
  for (const SweepScore& score : result.scores) details.push_back(by_name[score.name]);
  return details;
}

std::string ranking_text(const SweepResult& result, const std::vector<GroupDetail>& details) {
  Table table({{"rank", true}, {result.metric, true}, {"name"}, {"what"}});
  bool ties = false;
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
    table.add({std::to_string(score.rank) + (tied ? "~" : " "),
               score_text(score.score, result.unit), score.name, details[i].text});
  }
  std::string text = table.text();
  if (ties) text += "~ the samples leave open whether this or the next one is more sensitive\n";
  if (result.unit == "dB" && !result.scores.empty() && result.scores.front().score <= kLostDb)
    text += "-100 dB: outputs that are NaN, infinite or lost altogether\n";
  if (num_left > 0) text += fmt::format("... and {} more\n", num_left);
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
    names.push_back(scores.scores[i].name + " " + score_text(scores.scores[i].score, scores.unit));
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
                   const SweepResult& result, const std::vector<GroupDetail>& details,
                   GroupKind kind, const Facts& facts, const std::string& next_command) {
  write_text_file(folder / "results.json", sweep_to_json(result, facts));
  write_text_file(folder / "run.json", sweep_run_info_to_json(result));
  SensitivityPage page;
  page.title = fmt::format("Quantization Sensitivity ({})", result.metric);
  page.metric =
      result.unit.empty() ? result.metric : fmt::format("{} ({})", result.metric, result.unit);
  // Without a sensitive group the rest is better.
  page.higher_is_worse =
      (result.better == Better::kLower) != (result.mode == SweepMode::kDisableOne);
  const std::vector<std::size_t> order = network_order(simulation, result);
  for (const std::size_t row : order) {
    const SweepScore& score = result.scores[row];
    page.scores.emplace_back(score.name, score.score);
    page.details.push_back(details[row].text);
    page.repeats.push_back(details[row].repeats);
    if (score.interval) page.intervals.emplace_back(score.interval->low, score.interval->high);
    page.tied_with_next.push_back(score.tied_with_next);
  }
  page.interactions = result.interactions;
  page.highlight_patterns = default_highlight_patterns();
  std::erase_if(page.highlight_patterns, [&](const std::string& pattern) {
    return std::none_of(page.scores.begin(), page.scores.end(), [&](const auto& score) {
      return score.first.find(pattern) != std::string::npos;
    });
  });
  page.details_label = kind == GroupKind::kOperator ? "Operator" : "Quantizer";
  for (const auto& [name, value] : facts) page.facts.emplace_back(name, short_fact(name, value));
  page.facts.emplace_back("cost", cost_text(result));
  if (kind != GroupKind::kName) page.intro.sentences = sweep_sentences(result, details, order);
  page.intro.next_command = next_command;
  write_sensitivity_page(page, folder / "report.html");
}

}  // namespace bitsweep::cli
