#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bitsweep/error.h"
#include "bitsweep/report.h"
#include "report/page.h"

namespace bitsweep {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMatrixSize = 24;
constexpr std::size_t kNumPairs = 20;

// 1-based ranks by entry, most sensitive first; 0 for NaN, which has no place in an order.
std::vector<std::int64_t> ranks_of(const SensitivityPage& page) {
  std::vector<std::size_t> order(page.scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return std::isnan(page.scores[i].second); });
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const double left = page.scores[a].second;
    const double right = page.scores[b].second;
    return page.higher_is_worse ? left > right : left < right;
  });
  std::vector<std::int64_t> ranks(page.scores.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<std::int64_t>(i) + 1;
  return ranks;
}

void check_length(const SensitivityPage& page, std::size_t length, const std::string& what,
                  const std::string& one) {
  if (length == 0 || length == page.scores.size()) return;
  throw Error(ErrorCode::kInvalidArgument, "report",
              "there are " + std::to_string(length) + " " + what + " for " +
                  std::to_string(page.scores.size()) + " scores",
              "give one " + one + " per score, or none at all");
}

// Entries of the page that the matrix shows, most sensitive first, by index.
std::vector<std::size_t> matrix_entries(const SensitivityPage& page,
                                        const std::vector<std::int64_t>& ranks,
                                        const std::map<std::string, std::size_t>& row_of) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] > 0 && row_of.contains(page.scores[i].first)) chosen.push_back(i);
  }
  std::sort(chosen.begin(), chosen.end(),
            [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
  if (chosen.size() > kMatrixSize) chosen.resize(kMatrixSize);
  return chosen;
}

// How the errors of two entries add up, in [-1, 1]; null where they made none or no numbers.
Json interaction_of(const Interactions::Output& output, std::size_t num_rows, std::size_t a,
                    std::size_t b) {
  const std::vector<double>& gram = output.gram;
  const double both = gram[a * num_rows + a] + gram[b * num_rows + b];
  const double value = 2.0 * gram[a * num_rows + b] / both;
  return both > 0.0 && std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json interactions_of(const SensitivityPage& page, const std::vector<std::int64_t>& ranks) {
  if (!page.interactions || page.interactions->outputs.empty()) return nullptr;
  const Interactions& interactions = *page.interactions;
  std::map<std::string, std::size_t> row_of;
  for (std::size_t g = 0; g < interactions.groups.size(); ++g)
    row_of.emplace(interactions.groups[g], interactions.rows[g]);
  Json entries = Json::array();
  Json matrix = Json::array();
  const std::vector<std::size_t> chosen = matrix_entries(page, ranks, row_of);
  for (const std::size_t i : chosen) {
    entries.push_back(i);
    Json& line = matrix.emplace_back(Json::array());
    for (const std::size_t j : chosen) {
      line.push_back(interaction_of(interactions.outputs.front(), interactions.num_rows,
                                    row_of.at(page.scores[i].first),
                                    row_of.at(page.scores[j].first)));
    }
  }
  Json pairs = Json::array();
  for (const InteractingPair& pair : interactions.strongest_pairs(kNumPairs)) {
    pairs.push_back({{"first", pair.first},
                     {"second", pair.second},
                     {"interaction", report::json_number(pair.interaction)},
                     {"energy", report::json_number(pair.energy)}});
  }
  return {
      {"entries", std::move(entries)}, {"matrix", std::move(matrix)}, {"pairs", std::move(pairs)}};
}

}  // namespace

std::vector<std::string> default_highlight_patterns() {
  return {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
}

void write_sensitivity_page(const SensitivityPage& page, const std::filesystem::path& path) {
  if (page.scores.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "report", "there are no scores to show",
                "give the result of a sensitivity sweep");
  }
  check_length(page, page.details.size(), "details", "text");
  check_length(page, page.intervals.size(), "intervals", "interval");
  check_length(page, page.tied_with_next.size(), "ties", "tie");
  check_length(page, page.repeats.size(), "marks of repeats", "mark");
  const std::string metric = page.metric.empty() ? "Score" : page.metric;
  const std::string title =
      page.title.empty() ? "Quantization sensitivity (" + metric + ")" : page.title;
  const std::vector<std::int64_t> ranks = ranks_of(page);
  Json entries = Json::array();
  for (std::size_t i = 0; i < page.scores.size(); ++i) {
    Json entry = {{"name", page.scores[i].first},
                  {"score", report::json_number(page.scores[i].second)}};
    entry["rank"] = ranks[i] == 0 ? Json(nullptr) : Json(ranks[i]);
    if (!page.details.empty()) entry["detail"] = page.details[i];
    if (!page.intervals.empty()) {
      const auto& [low, high] = page.intervals[i];
      entry["interval"] = Json::array({report::json_number(low), report::json_number(high)});
    }
    if (!page.tied_with_next.empty() && page.tied_with_next[i]) entry["tied_with_next"] = true;
    if (!page.repeats.empty() && page.repeats[i]) entry["repeats"] = true;
    entries.push_back(std::move(entry));
  }
  const std::string details_label = page.details_label.empty() ? "Details" : page.details_label;
  report::write_page(
      report::make_page("sensitivity", title, page.facts,
                        {{"intro", report::intro_json(page.intro)},
                         {"metric", metric},
                         {"higher_is_worse", page.higher_is_worse},
                         {"details_label", page.details.empty() ? "" : details_label},
                         {"patterns", page.highlight_patterns},
                         {"entries", std::move(entries)},
                         {"interactions", interactions_of(page, ranks)}}),
      path);
}

}  // namespace bitsweep
