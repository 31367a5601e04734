#include <nlohmann/json.hpp>

#include "bitsweep/report.h"
#include "report/page.h"

namespace bitsweep {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string sweep_to_json(const SweepResult& result,
                          const std::vector<std::pair<std::string, std::string>>& facts) {
  Json json = {{"metric", result.metric},
               {"unit", result.unit},
               {"better", result.better == Better::kHigher ? "higher" : "lower"},
               {"num_samples", result.num_samples},
               {"complete", result.complete}};
  Json& facts_json = json["facts"] = Json::object();
  for (const auto& [name, value] : facts) facts_json[name] = value;
  Json ranking = Json::array();
  Json per_sample = Json::object();
  for (const SweepScore& row : result.scores) {
    Json& entry = ranking.emplace_back(
        Json{{"rank", row.rank}, {"name", row.name}, {"score", report::json_number(row.score)}});
    if (row.interval) {
      entry["standard_error"] = report::json_number(row.interval->standard_error);
      entry["interval_95"] = {report::json_number(row.interval->low),
                              report::json_number(row.interval->high)};
      entry["tied_with_next"] = row.tied_with_next;
    }
    Json& scores = per_sample[row.name] = Json::array();
    for (const double score : row.per_sample) scores.push_back(report::json_number(score));
  }
  json["ranking"] = std::move(ranking);
  json["per_sample"] = std::move(per_sample);
  return dump(json);
}

std::string sweep_run_info_to_json(const SweepResult& result) {
  return dump({{"elapsed_s", report::json_number(result.elapsed_s)},
               {"num_runs", result.num_runs},
               {"forward_equivalents", report::json_number(result.forward_equivalents)}});
}

}  // namespace bitsweep
