#include "mix_output.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "bitsweep/encodings_file.h"
#include "bitsweep/qdq_export.h"
#include "bitsweep/report.h"
#include "next_command.h"
#include "words.h"

namespace bitsweep::cli {
namespace {

namespace fs = std::filesystem;

/// "W8A8 x 12, W8A16 x 3": how many groups have which types.
std::string types_text(const MixPoint& point) {
  std::map<std::string, int> counts;
  for (const Candidate& c : point.by_group) ++counts[mix_candidate_text(c)];
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", name, count);
  return text;
}

std::string csv(const MixResult& result) {
  std::string text = "measured_sqnr_db,predicted_sqnr_db,expected_sqnr_db";
  for (std::size_t i = 0; i < result.frontier.front().costs.size(); ++i)
    text += "," + mix_costs()[i].name;
  text += "\n";
  for (const MixPoint& point : result.frontier) {
    text += fmt::format("{},{},{}", point.measured_db, point.predicted_db, point.expected_db);
    for (const double cost : point.costs) text += fmt::format(",{}", cost);
    text += "\n";
  }
  return text;
}

std::string json(const MixResult& result) {
  using Json = nlohmann::ordered_json;
  Json points = Json::array();
  for (const MixPoint& point : result.frontier) {
    Json row{{"measured_sqnr_db", point.measured_db},
             {"predicted_sqnr_db", point.predicted_db},
             {"expected_sqnr_db", point.expected_db}};
    for (std::size_t i = 0; i < point.costs.size(); ++i) row[mix_costs()[i].name] = point.costs[i];
    for (std::size_t g = 0; g < point.by_group.size(); ++g) {
      row["groups"][group_name(result.groups[g])] = mix_candidate_text(point.by_group[g]);
    }
    points.push_back(std::move(row));
  }
  return points.dump(1) + "\n";
}

std::string verify_line(const fs::path& folder, const MixRequest& request) {
  std::vector<std::string> words = {"bitsweep",    "verify",
                                    request.model, (folder / "model.qdq.onnx").string(),
                                    "--data",      request.data};
  if (request.rules != "default") words.insert(words.end(), {"--rules", request.rules});
  return shell_line(words);
}

}  // namespace

void write_mix(const fs::path& folder, const Simulation& simulation, const MixResult& result,
               const MixRequest& request) {
  // The choice first, the large page last: a disk that is full shall cost the least.
  if (result.chosen) {
    write_text_file(folder / "policy.json", mix_policy_json(simulation, result));
    to_onnx_qdq(simulation).save(folder / "model.qdq.onnx");
    export_simulation(simulation, folder, "model", {.encodings = {}, .model = false});
  }
  if (result.frontier.empty()) return;
  write_text_file(folder / "frontier.csv", csv(result));
  write_text_file(folder / "frontier.json", json(result));
  FrontierPage page = frontier_page(simulation, result, request.cost, request.targets);
  page.facts.insert(page.facts.begin(), {{"model", request.model}, {"data", request.data}});
  if (!request.outputs.empty())
    page.facts.emplace_back("outputs", fmt::format("{}", fmt::join(request.outputs, ", ")));
  if (result.chosen) page.intro.next_command = verify_line(folder, request);
  write_frontier_page(page, folder / "frontier.html");
}

std::string mix_text(const MixResult& result, const MixRequest& request) {
  std::string text;
  if (!result.frontier.empty()) {
    Table table({{request.cost, true},
                 {"sqnr", true},
                 {"predicted", true},
                 {"expected", true},
                 {"groups"}});
    for (const MixPoint& point : result.frontier) {
      table.add({fmt::format("{:.4g}", point.costs[mix_cost_index(request.cost)]),
                 score_text(point.measured_db, "dB"), score_text(point.predicted_db, "dB"),
                 score_text(point.expected_db, "dB"), types_text(point)});
    }
    text +=
        table.text() + "sqnr as measured; the curve keeps what is expected of other samples\n\n";
  }
  for (const std::string& note : result.notes) text += "note    " + note + "\n";
  if (!result.chosen) return text;
  const MixPoint& point = *result.chosen;
  text += fmt::format("chosen  {}\n", types_text(point));
  text +=
      fmt::format("quality {} measured, {} predicted{}\n", score_text(point.measured_db, "dB"),
                  score_text(point.predicted_db, "dB"),
                  result.test_db ? ", " + score_text(*result.test_db, "dB") + " on test data" : "");
  if (const std::string missed = missed_on_test(result, request.targets); !missed.empty())
    text += "        " + missed + "\n";
  if (!request.outputs.empty())
    text += fmt::format("outputs {}\n", fmt::join(request.outputs, ", "));
  for (const MixCheck& check : result.checks) {
    text += fmt::format(
        "check   {} {} on test data{}\n", check.name, score_text(check.score, check.unit),
        check.float_score
            ? fmt::format(", {} of the float model", score_text(*check.float_score, check.unit))
            : "");
  }
  text += "costs   ";
  for (std::size_t i = 0; i < point.costs.size(); ++i)
    text += fmt::format("{}{} {:.6g}", i == 0 ? "" : ", ", mix_costs()[i].name, point.costs[i]);
  text += "\n";
  if (result.gap) {
    text +=
        fmt::format("bound   no mix of this cost has less than {:.1f}% of its predicted noise{}\n",
                    100.0 * (1.0 - *result.gap), result.optimal ? " (proven optimal)" : "");
  }
  return text;
}

std::string saved_text(const fs::path& folder, const MixResult& result, const MixRequest& request) {
  std::string files;
  const auto add = [&](const char* file) {
    files += (files.empty() ? "" : ", ") + (folder / file).string();
  };
  if (!result.frontier.empty()) add("frontier.html");
  if (result.chosen) {
    add("policy.json");
    add("model.qdq.onnx");
  }
  if (files.empty()) return "";
  return "saved   " + files + "\n" +
         (result.chosen ? "next    " + verify_line(folder, request) + "\n" : "");
}

}  // namespace bitsweep::cli
