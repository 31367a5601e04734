#include <nlohmann/json.hpp>

#include "bitsweep/report.h"
#include "report/page.h"

namespace bitsweep {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Rows of one metric and, apart, their scores by sample.
void put_scores(const MetricScores& scores, Json* into) {
  Json ranking = Json::array();
  Json per_sample = Json::object();
  for (const SweepScore& row : scores.scores) {
    Json& entry = ranking.emplace_back(
        Json{{"rank", row.rank}, {"name", row.name}, {"score", report::json_number(row.score)}});
    if (row.interval) {
      entry["standard_error"] = report::json_number(row.interval->standard_error);
      entry["interval_95"] = {report::json_number(row.interval->low),
                              report::json_number(row.interval->high)};
      entry["tied_with_next"] = row.tied_with_next;
    }
    if (row.per_output.size() > 1) {
      Json& outputs = entry["per_output"] = Json::array();
      for (const double score : row.per_output) outputs.push_back(report::json_number(score));
    }
    Json& samples = per_sample[row.name] = Json::array();
    for (const double score : row.per_sample) samples.push_back(report::json_number(score));
  }
  (*into)["ranking"] = std::move(ranking);
  (*into)["per_sample"] = std::move(per_sample);
  if (scores.float_score) (*into)["float_score"] = report::json_number(*scores.float_score);
}

Json metric_json(const MetricScores& scores) {
  return {{"metric", scores.metric},
          {"unit", scores.unit},
          {"better", scores.better == Better::kHigher ? "higher" : "lower"}};
}

Json stability_json(const Stability& stability) {
  return {{"selected", stability.selected},
          {"settled", stability.settled},
          {"confidence", report::json_number(stability.confidence)},
          {"num_evaluations", stability.num_evaluations},
          {"num_without_stopping", stability.num_without_stopping}};
}

Json interactions_json(const Interactions& interactions) {
  constexpr std::size_t kPairs = 20;
  Json outputs = Json::array();
  for (std::size_t o = 0; o < interactions.outputs.size(); ++o) {
    Json pairs = Json::array();
    for (const InteractingPair& pair : interactions.strongest_pairs(kPairs, o)) {
      pairs.push_back({{"first", pair.first},
                       {"second", pair.second},
                       {"interaction", report::json_number(pair.interaction)},
                       {"energy", report::json_number(pair.energy)}});
    }
    outputs.push_back({{"output", interactions.outputs[o].index}, {"strongest_pairs", pairs}});
  }
  return outputs;
}

}  // namespace

std::string sweep_to_json(const SweepResult& result,
                          const std::vector<std::pair<std::string, std::string>>& facts) {
  Json json = metric_json(result);
  if (result.mode != SweepMode::kEnableOne) json["mode"] = sweep_mode_name(result.mode);
  json["num_samples"] = result.num_samples;
  json["complete"] = result.complete;
  Json& facts_json = json["facts"] = Json::object();
  for (const auto& [name, value] : facts) facts_json[name] = value;
  if (result.stability) json["stability"] = stability_json(*result.stability);
  put_scores(result, &json);
  for (const MetricScores& scores : result.more) {
    Json more = metric_json(scores);
    put_scores(scores, &more);
    json["more_metrics"].push_back(std::move(more));
  }
  if (result.interactions) json["interactions"] = interactions_json(*result.interactions);
  return dump(json);
}

std::string sweep_run_info_to_json(const SweepResult& result) {
  return dump({{"elapsed_s", report::json_number(result.elapsed_s)},
               {"num_runs", result.num_runs},
               {"forward_equivalents", report::json_number(result.forward_equivalents)},
               {"num_evaluations", result.num_evaluations},
               {"num_kept", result.num_kept},
               {"notes", result.notes}});
}

}  // namespace bitsweep
