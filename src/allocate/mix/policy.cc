#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "allocate/weight_grids.h"
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
  if (candidate.granularity) json["granularity"] = weight_granularity_text(*candidate.granularity);
  if (candidate.estimator) json["estimator"] = range_estimator_text(*candidate.estimator);
  return json;
}

/// "int8", or an object where the candidate says more than the type.
Json tensor_json(const Quantizer& quantizer, const Candidate* candidate, bool is_parameter) {
  Json json{{"type", quantizer.format().name()}};
  if (candidate != nullptr && is_parameter && candidate->granularity) {
    // Not of a weight whose operator knows no such axes.
    const Granularity& now = quantizer.granularity();
    if (allocate::granularity_of(*candidate->granularity, quantizer, {}) == now)
      json["granularity"] = weight_granularity_text(*candidate->granularity);
  }
  if (candidate != nullptr && candidate->estimator)
    json["estimator"] = range_estimator_text(*candidate->estimator);
  return json.size() == 1 ? json["type"] : json;
}

/// What a policy says of one tensor.
struct TensorChoice {
  Format format;
  std::optional<WeightGranularity> granularity;
  std::optional<RangeEstimator> estimator;
};

TensorChoice read_tensor(const std::string& name, const Json& json) {
  const auto word = [&](const char* key) -> std::optional<std::string> {
    if (!json.is_object() || !json.contains(key)) return std::nullopt;
    if (!json[key].is_string())
      reject("\"" + std::string(key) + "\" of tensor \"" + name + "\" is no text");
    return json[key].get<std::string>();
  };
  const std::optional<std::string> type =
      json.is_string() ? std::optional(json.get<std::string>()) : word("type");
  if (!type) reject("tensor \"" + name + "\" has no type");
  TensorChoice choice{.format = Format::parse(*type), .granularity = {}, .estimator = {}};
  if (const auto text = word("granularity")) choice.granularity = parse_weight_granularity(*text);
  if (const auto text = word("estimator")) choice.estimator = parse_range_estimator(*text);
  return choice;
}

void apply(const TensorChoice& choice, Quantizer& quantizer) {
  quantizer.set_enabled(true);
  quantizer.set_format(choice.format);
  if (choice.estimator) {
    quantizer.set_percentile(choice.estimator->percentile);
    quantizer.set_scheme(choice.estimator->scheme);
  }
  if (choice.granularity) {
    quantizer.set_granularity(
        allocate::granularity_of(*choice.granularity, quantizer, quantizer.granularity()));
  }
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
  std::map<std::string, const Candidate*> activations;
  std::map<std::string, const Candidate*> parameters;
  for (std::size_t g = 0; g < result.groups.size(); ++g) {
    for (const std::string& t : result.groups[g].activations)
      activations[t] = &result.chosen->by_group[g];
    for (const std::string& t : result.groups[g].parameters)
      parameters[t] = &result.chosen->by_group[g];
  }
  for (const std::string& name : simulation.tensor_names()) {
    const Quantizer& q = *simulation.quantizer(name);
    const bool is_parameter = parameters.count(name) > 0;
    const auto& of = is_parameter ? parameters : activations;
    const auto candidate = of.find(name);
    if (q.enabled()) {
      json["tensors"][name] =
          tensor_json(q, candidate == of.end() ? nullptr : candidate->second, is_parameter);
    }
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
  std::vector<std::pair<std::string, TensorChoice>> choices;
  for (const auto& [name, of_tensor] : json["tensors"].items()) {
    if (known.count(name) == 0) reject("tensor \"" + name + "\" has no quantizer");
    TensorChoice& choice = choices.emplace_back(name, read_tensor(name, of_tensor)).second;
    if (!choice.granularity) continue;
    const QuantizerGroup alone{.activations = {}, .parameters = {name}};
    if (const auto why = allocate::misfit(simulation, alone, *choice.granularity)) {
      reject("tensor \"" + name + "\" cannot be " + weight_granularity_text(*choice.granularity) +
             ": " + *why);
    }
  }
  for (const auto& [name, choice] : choices) apply(choice, *simulation.quantizer(name));
  simulation.apply_exception_rules();
}

}  // namespace bitsweep
