#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "bitsweep/metric.h"
#include "commands.h"
#include "options.h"
#include "words.h"

namespace bitsweep::cli {
namespace {

const char* direction(Better better) { return better == Better::kHigher ? "higher" : "lower"; }

int list_metrics(bool json) {
  if (json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const MetricInfo& info : metrics()) {
      rows.push_back({{"name", info.name},
                      {"unit", info.unit},
                      {"better", direction(info.better)},
                      {"summary", info.summary}});
    }
    fmt::print("{}\n", rows.dump(2));
    return 0;
  }
  Table table({{"name"}, {"unit"}, {"better"}, {"what it is"}});
  for (const MetricInfo& info : metrics()) {
    table.add(
        {info.name, info.unit.empty() ? "-" : info.unit, direction(info.better), info.summary});
  }
  fmt::print("{}", table.text());
  return 0;
}

}  // namespace

void add_metrics_command(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand("metrics", "list the metrics that --metric takes");
  const auto json = std::make_shared<bool>(false);
  add_json_flag(command, json.get());
  command->callback([action, json] { *action = [json] { return list_metrics(*json); }; });
}

}  // namespace bitsweep::cli
