#include "sweep/metrics/registry.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/error.h"
#include "bitsweep/names.h"

namespace bitsweep {
namespace {

using Table = std::map<std::string, scoring::MetricEntry, std::less<>>;

Table& table() {
  static Table entries;
  return entries;
}

const scoring::MetricEntry& find_entry(std::string_view name) {
  const auto found = table().find(name);
  if (found != table().end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [key, entry] : table()) known.push_back(key);
  throw unknown_name("metric", "metric", name, known);
}

}  // namespace

namespace scoring {

bool register_metric(MetricEntry entry) {
  const std::string name = entry.info.name;
  if (!table().emplace(name, std::move(entry)).second) {
    // Before main() nobody could catch an exception.
    std::fprintf(stderr, "bitsweep: two metrics are named \"%s\"\n", name.c_str());
    std::abort();
  }
  return true;
}

}  // namespace scoring

std::vector<MetricInfo> metrics() {
  std::vector<MetricInfo> rows;
  for (const auto& [key, entry] : table()) rows.push_back(entry.info);
  return rows;
}

const MetricInfo& find_metric(std::string_view name) { return find_entry(name).info; }

std::unique_ptr<MetricAccumulator> make_metric(std::string_view name,
                                               const MetricOptions& options) {
  const scoring::MetricEntry& entry = find_entry(name);
  if (options.k < 1) {
    throw Error(ErrorCode::kInvalidArgument, "metric", "k is " + std::to_string(options.k),
                "give k >= 1");
  }
  if (!(options.max_db > 0.0) || !std::isfinite(options.max_db)) {
    throw Error(ErrorCode::kInvalidArgument, "metric",
                "max_db is " + std::to_string(options.max_db), "give a positive number of dB");
  }
  for (const int output : options.outputs) {
    if (output < 0) {
      throw Error(ErrorCode::kInvalidArgument, "metric",
                  "output index " + std::to_string(output) + " is negative",
                  "count the model's outputs from 0");
    }
  }
  return entry.make(options);
}

}  // namespace bitsweep
