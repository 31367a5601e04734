#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bitsweep/error.h"
#include "bitsweep/report.h"
#include "report/page.h"

namespace bitsweep {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

std::vector<std::string> default_highlight_patterns() {
  return {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
}

void write_sensitivity_page(const SensitivityPage& page, const std::filesystem::path& path) {
  if (page.scores.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "report", "there are no scores to show",
                "give the result of a sensitivity sweep");
  }
  if (!page.details.empty() && page.details.size() != page.scores.size()) {
    throw Error(ErrorCode::kInvalidArgument, "report",
                "there are " + std::to_string(page.details.size()) + " details for " +
                    std::to_string(page.scores.size()) + " scores",
                "give one text per score, or none at all");
  }
  if (!page.intervals.empty() && page.intervals.size() != page.scores.size()) {
    throw Error(ErrorCode::kInvalidArgument, "report",
                "there are " + std::to_string(page.intervals.size()) + " intervals for " +
                    std::to_string(page.scores.size()) + " scores",
                "give one interval per score, or none at all");
  }
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
    entries.push_back(std::move(entry));
  }
  const std::string details_label = page.details_label.empty() ? "Details" : page.details_label;
  report::write_page("sensitivity", title, page.facts,
                     {{"metric", metric},
                      {"higher_is_worse", page.higher_is_worse},
                      {"details_label", page.details.empty() ? "" : details_label},
                      {"patterns", page.highlight_patterns},
                      {"entries", std::move(entries)}},
                     path);
}

}  // namespace bitsweep
