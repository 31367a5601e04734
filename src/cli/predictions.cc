#include "predictions.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <sstream>

#include "bitsweep/error.h"
#include "bitsweep/interactions.h"
#include "bitsweep/names.h"
#include "words.h"

namespace bitsweep::cli {
namespace {

Configuration find_configuration(const std::string& list, const std::vector<SweepGroup>& groups) {
  Configuration configuration{.patterns = list, .groups = {}};
  std::vector<bool> chosen(groups.size(), false);
  std::istringstream patterns(list);
  for (std::string pattern; std::getline(patterns, pattern, ',');) {
    bool fits = false;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (fnmatch(pattern.c_str(), groups[g].name.c_str(), 0) != 0) continue;
      fits = true;
      chosen[g] = true;
    }
    if (fits) continue;
    std::vector<std::string> names;
    for (const SweepGroup& group : groups) names.push_back(group.name);
    throw Error(ErrorCode::kInvalidArgument, "predict",
                "no group of the sweep is named \"" + pattern + "\"",
                did_you_mean(pattern, names) +
                    "write names of its scores, with * and ? for anything and commas between them");
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (chosen[g]) configuration.groups.push_back(groups[g].name);
  }
  return configuration;
}

struct Scores {
  std::string together;  // with what the groups' errors have in common
  std::string added;     // as if they had nothing in common
};

Scores scores_of(const Configuration& configuration, const SweepResult& result) {
  const Interactions& interactions = *result.interactions;
  return {
      score_text(interactions.predict(configuration.groups, result.metric), result.unit),
      score_text(interactions.predict_additive(configuration.groups, result.metric), result.unit)};
}

}  // namespace

std::vector<Configuration> find_configurations(const std::vector<std::string>& lists,
                                               const std::vector<SweepGroup>& groups,
                                               const std::string& metric) {
  std::vector<Configuration> configurations;
  configurations.reserve(lists.size());
  for (const std::string& list : lists) configurations.push_back(find_configuration(list, groups));
  if (!lists.empty()) Interactions().predict({}, metric);  // throws where it cannot
  return configurations;
}

std::vector<std::pair<std::string, std::string>> prediction_facts(
    const std::vector<Configuration>& configurations, const SweepResult& result) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const Configuration& configuration : configurations) {
    const Scores scores = scores_of(configuration, result);
    facts.emplace_back(
        "predicted for " + configuration.patterns,
        fmt::format("{} with {}; {} if their errors were independent", scores.together,
                    plural(static_cast<std::int64_t>(configuration.groups.size()), "group"),
                    scores.added));
  }
  return facts;
}

std::string predictions_text(const std::vector<Configuration>& configurations,
                             const SweepResult& result) {
  Table table(
      {{"predicted", true}, {"independent", true}, {"groups", true}, {"quantized together"}});
  for (const Configuration& configuration : configurations) {
    const Scores scores = scores_of(configuration, result);
    table.add({scores.together, scores.added, std::to_string(configuration.groups.size()),
               configuration.patterns});
  }
  return result.metric + " of several groups, from their errors and how these add up:\n" +
         table.text();
}

}  // namespace bitsweep::cli
