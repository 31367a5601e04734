#include "report/sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bitsweep/text.h"

namespace bitsweep::report {
namespace {

/// Fewer groups have no beginning and end worth telling apart.
constexpr std::size_t kFewestPlaces = 12;
constexpr std::size_t kWorst = 20;

std::string at_score(const SweepResult& result, std::size_t row) {
  const SweepScore& score = result.scores[row];
  return score.name + " at " + score_text(score.score, result.unit);
}

/// "12 of the 20 most sensitive lie in the first third of the network, 5 in the second ...".
std::string places(const std::vector<std::size_t>& worst,
                   const std::vector<std::size_t>& in_network) {
  std::array<int, 3> thirds{};
  for (const std::size_t row : worst) {
    const auto at = std::find(in_network.begin(), in_network.end(), row) - in_network.begin();
    ++thirds[std::min<std::size_t>(2, 3 * static_cast<std::size_t>(at) / in_network.size())];
  }
  return fmt::format(
      "Of the {} most sensitive, {} lie in the first third of the network, {} in the second and {} "
      "in the last.",
      worst.size(), thirds[0], thirds[1], thirds[2]);
}

}  // namespace

std::vector<std::string> sweep_sentences(const SweepResult& result,
                                         const std::vector<GroupDetail>& details,
                                         const std::vector<std::size_t>& in_network) {
  // In the other modes a score is not what one group does.
  if (result.mode != SweepMode::kEnableOne) return {};
  std::vector<std::size_t> worst;
  for (std::size_t i = 0; i < result.scores.size() && worst.size() < kWorst; ++i) {
    if (!details[i].repeats) worst.push_back(i);
  }
  if (worst.empty()) return {};
  std::string first = "Most sensitive: " + at_score(result, worst[0]);
  for (std::size_t i = 1; i < std::min<std::size_t>(3, worst.size()); ++i)
    first += (i == 1 ? ", then " : " and ") + at_score(result, worst[i]);
  const std::size_t middle = result.scores.size() / 2;
  first += fmt::format("; the median of {} is {}.",
                       plural(static_cast<std::int64_t>(result.scores.size()), "score"),
                       score_text(result.scores[middle].score, result.unit));
  std::vector<std::string> sentences{std::move(first)};
  if (result.scores.size() >= kFewestPlaces && worst.size() < result.scores.size())
    sentences.push_back(places(worst, in_network));
  return sentences;
}

std::vector<std::string> mix_sentences(const MixResult& result, const std::string& cost) {
  const std::size_t axis = mix_cost_index(cost);
  const auto point_text = [&](const MixPoint& point) {
    return fmt::format("{} at {} {:.4g}", score_text(point.measured_db, "dB"), cost,
                       point.costs.at(axis));
  };
  std::vector<std::string> sentences;
  if (result.chosen) {
    sentences.push_back(fmt::format("Chosen: {}, where {} were predicted.",
                                    point_text(*result.chosen),
                                    score_text(result.chosen->predicted_db, "dB")));
  } else if (!result.infeasible.empty()) {
    sentences.push_back("Nothing was chosen: " + result.infeasible + ".");
  }
  if (result.frontier.size() > 1) {
    sentences.push_back(fmt::format("The curve goes from {} to {}.",
                                    point_text(result.frontier.front()),
                                    point_text(result.frontier.back())));
  }
  return sentences;
}

}  // namespace bitsweep::report

namespace bitsweep {

std::string missed_on_test(const MixResult& result, const std::vector<MixTarget>& targets) {
  if (!result.test_db) return {};
  for (const MixTarget& target : targets) {
    // As printed: to the second decimal.
    const double missing = target.value - *result.test_db;
    if (!target.at_least || missing < 0.005) continue;
    return fmt::format(
        "The test samples have {}, {} less than asked for, since they lose more than the search "
        "samples. Search and calibrate on more samples, or ask for a reserve.",
        score_text(*result.test_db, "dB"), score_text(missing, "dB"));
  }
  return {};
}

}  // namespace bitsweep
