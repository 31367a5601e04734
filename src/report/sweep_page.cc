#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "bitsweep/report.h"
#include "bitsweep/text.h"
#include "report/network_order.h"
#include "report/sentences.h"

namespace bitsweep {
namespace {

/// Of each score.
std::vector<std::vector<std::string>> tensors_of(const SweepResult& result) {
  std::map<std::string, const SweepGroup*> groups;
  for (const SweepGroup& group : result.groups) groups.emplace(group.name, &group);
  std::vector<std::vector<std::string>> tensors;
  for (const SweepScore& score : result.scores) tensors.push_back(groups.at(score.name)->tensors);
  return tensors;
}

bool is_quantizer(const SweepGroup& group) {
  return group.tensors.size() == 1 && group.tensors.front() == group.name;
}

/// Role and format; tensors that are tied to another row say so, which says how many they are.
std::map<std::string, GroupDetail> quantizer_details(const Simulation& simulation,
                                                     const SweepResult& result) {
  std::map<std::string, GroupDetail> details;
  for (const SweepScore& score : result.scores) details[score.name];
  std::map<std::string, std::int64_t> num_tied;
  for (const TensorReport& row : simulation.describe()) {
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

/// Groups of the same quantizers have the same score; all but the first one say so.
void mark_repeats(const Simulation& simulation, const std::vector<SweepGroup>& groups,
                  std::map<std::string, GroupDetail>* details) {
  std::map<std::string, std::string> tied_to;
  for (const TensorReport& row : simulation.describe()) {
    if (!row.tied_to.empty()) tied_to.emplace(row.tensor, row.tied_to);
  }
  std::map<std::set<std::string>, std::string> first;
  for (const SweepGroup& group : groups) {
    std::set<std::string> owners;
    for (const std::string& tensor : group.tensors) {
      const auto owner = tied_to.find(tensor);
      owners.insert(owner != tied_to.end() ? owner->second : tensor);
    }
    const auto [same, is_new] = first.emplace(std::move(owners), group.name);
    if (is_new) continue;
    GroupDetail& detail = details->at(group.name);
    detail.repeats = true;
    detail.text += ", has the quantizers of " + same->second;
  }
}

/// By name; of a sweep whose groups are quantizers none is needed.
std::map<std::string, std::string> types_of_operators(const Simulation& simulation,
                                                      const SweepResult& result) {
  std::map<std::string, std::string> types;
  if (std::ranges::all_of(result.groups, is_quantizer)) return types;
  for (const OperatorInfo& op : simulation.operators()) types.emplace(op.name, op.type);
  return types;
}

std::map<std::string, GroupDetail> details_by_name(
    const Simulation& simulation, const SweepResult& result,
    const std::map<std::string, std::string>& types) {
  if (std::ranges::all_of(result.groups, is_quantizer))
    return quantizer_details(simulation, result);
  std::map<std::string, GroupDetail> details;
  for (const SweepGroup& group : result.groups) {
    const auto type = types.find(group.name);
    details[group.name].text =
        type != types.end() ? type->second
                            : plural(static_cast<std::int64_t>(group.tensors.size()), "quantizer");
  }
  mark_repeats(simulation, result.groups, &details);
  return details;
}

std::string details_label(const SweepResult& result,
                          const std::map<std::string, std::string>& types) {
  if (std::ranges::all_of(result.groups, is_quantizer)) return "Quantizer";
  const bool operators = std::ranges::all_of(
      result.groups, [&](const SweepGroup& group) { return types.contains(group.name); });
  return operators ? "Operator" : "Group";
}

/// Toggles that would mark nothing are left out.
std::vector<std::string> useful_patterns(const SensitivityPage& page) {
  std::vector<std::string> patterns = default_highlight_patterns();
  std::erase_if(patterns, [&](const std::string& pattern) {
    return std::ranges::none_of(page.scores, [&](const auto& score) {
      return score.first.find(pattern) != std::string::npos;
    });
  });
  return patterns;
}

std::vector<GroupDetail> details_of_scores(const Simulation& simulation, const SweepResult& result,
                                           const std::map<std::string, std::string>& types) {
  std::map<std::string, GroupDetail> by_name = details_by_name(simulation, result, types);
  std::vector<GroupDetail> details;
  details.reserve(result.scores.size());
  for (const SweepScore& score : result.scores) details.push_back(by_name[score.name]);
  return details;
}

}  // namespace

std::vector<GroupDetail> describe_groups(const Simulation& simulation, const SweepResult& result) {
  return details_of_scores(simulation, result, types_of_operators(simulation, result));
}

SensitivityPage sensitivity_page(const Simulation& simulation, const SweepResult& result) {
  SensitivityPage page;
  page.title = "Quantization Sensitivity (" + result.metric + ")";
  page.metric = result.unit.empty() ? result.metric : result.metric + " (" + result.unit + ")";
  // Without a sensitive group the rest is better.
  page.higher_is_worse =
      (result.better == Better::kLower) != (result.mode == SweepMode::kDisableOne);
  const std::vector<std::size_t> order = report::network_order(simulation, tensors_of(result));
  const std::map<std::string, std::string> types = types_of_operators(simulation, result);
  const std::vector<GroupDetail> details = details_of_scores(simulation, result, types);
  for (const std::size_t row : order) {
    const SweepScore& score = result.scores[row];
    page.scores.emplace_back(score.name, score.score);
    page.details.push_back(details[row].text);
    page.repeats.push_back(details[row].repeats);
    if (score.interval) page.intervals.emplace_back(score.interval->low, score.interval->high);
    page.tied_with_next.push_back(score.tied_with_next);
  }
  page.interactions = result.interactions;
  page.highlight_patterns = useful_patterns(page);
  page.details_label = details_label(result, types);
  page.intro.sentences = report::sweep_sentences(result, details, order);
  return page;
}

}  // namespace bitsweep
