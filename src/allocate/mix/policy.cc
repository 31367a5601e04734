#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "bitsweep/error.h"
#include "bitsweep/mix.h"

namespace bitsweep {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kKind = "bitsweep mix policy";
constexpr int kVersion = 1;

[[noreturn]] void reject(const std::string& what) {
  throw Error(ErrorCode::kInvalidData, "policy", what,
              "give the policy.json that `bitsweep mix` wrote for this model");
}

Json candidate_json(const Candidate& candidate) {
  Json json{{"activation", candidate.activation.name()}};
  if (candidate.parameter) json["parameter"] = candidate.parameter->name();
  return json;
}

}  // namespace

std::string mix_policy_json(const Simulation& simulation, const MixResult& result) {
  if (!result.chosen) {
    throw Error(ErrorCode::kNotReady, "policy", "no configuration was chosen",
                "give a target that can be met");
  }
  Json json{{"kind", kKind},
            {"version", kVersion},
            {"model_sha256", simulation.model().content_hash()},
            {"rules", simulation.options().rules}};
  json["measured_sqnr_db"] = result.chosen->measured_db;
  json["predicted_sqnr_db"] = result.chosen->predicted_db;
  if (result.test_db) json["test_sqnr_db"] = *result.test_db;
  for (std::size_t i = 0; i < result.chosen->costs.size(); ++i)
    json["costs"][mix_costs()[i].name] = result.chosen->costs[i];
  for (const MixCheck& check : result.checks) json["checks"][check.name] = check.score;
  json["groups"] = Json::array();
  for (std::size_t g = 0; g < result.groups.size(); ++g) {
    json["groups"].push_back({{"activations", result.groups[g].activations},
                              {"parameters", result.groups[g].parameters},
                              {"candidate", candidate_json(result.chosen->by_group[g])}});
  }
  // What each tensor has in the end, rules of operators included.
  for (const std::string& name : simulation.tensor_names()) {
    const Quantizer& q = *simulation.quantizer(name);
    if (q.enabled()) json["tensors"][name] = q.format().name();
  }
  return json.dump(1) + "\n";
}

void apply_mix_policy(Simulation& simulation, const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object() || json.value("kind", "") != kKind)
    reject("the text is no policy");
  if (json.value("version", 0) != kVersion) reject("the policy has another version");
  if (json.value("model_sha256", "") != simulation.model().content_hash())
    reject("the policy belongs to another model");
  if (!json.contains("tensors") || !json["tensors"].is_object())
    reject("the policy has no \"tensors\"");
  const std::vector<std::string>& names = simulation.tensor_names();
  const std::set<std::string> known(names.begin(), names.end());
  std::vector<std::pair<std::string, Format>> formats;
  for (const auto& [name, format] : json["tensors"].items()) {
    if (known.count(name) == 0) reject("tensor \"" + name + "\" has no quantizer");
    if (!format.is_string()) reject("tensor \"" + name + "\" has no type");
    formats.emplace_back(name, Format::parse(format.get<std::string>()));
  }
  for (const auto& [name, format] : formats) {
    simulation.quantizer(name)->set_enabled(true);
    simulation.quantizer(name)->set_format(format);
  }
  simulation.apply_exception_rules();
}

}  // namespace bitsweep
