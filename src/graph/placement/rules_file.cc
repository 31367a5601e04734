#include "graph/placement/rules_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bitsweep/error.h"
#include "bitsweep/names.h"

namespace bitsweep::graph {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::pair<std::string_view, FusionPass>, 4> kPasses = {{
    {"MatmulAdd", FusionPass::kMatmulAdd},
    {"LayerNormalization", FusionPass::kLayerNormalization},
    {"RMSNormalization", FusionPass::kRmsNormalization},
    {"MaskedSoftmax", FusionPass::kMaskedSoftmax},
}};

// Reads one JSON object: every key that a caller asks for becomes a known key, finish() rejects the
// others.
class Object {
 public:
  Object(const Json& json, std::string path, const std::string& file)
      : json_(json), path_(std::move(path)), file_(file) {
    if (!json.is_object())
      fail(fmt::format("\"{}\" is not a JSON object", path_), "write { ... } there");
  }

  const Json* find(const char* key) {
    known_.emplace_back(key);
    const auto it = json_.find(key);
    return it == json_.end() ? nullptr : &*it;
  }

  const Json& require(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) {
      fail(
          fmt::format("key \"{}\" is missing{}", key, path_.empty() ? "" : " in \"" + path_ + "\""),
          fmt::format("add \"{}\" (it may be empty), or name a base in \"extends\"", key));
    }
    return *value;
  }

  std::optional<bool> boolean(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (value->is_boolean()) return value->get<bool>();
    if (value->is_string() && *value == "True") return true;
    if (value->is_string() && *value == "False") return false;
    fail(fmt::format("\"{}\" is {}", child(key), value->dump()), "write \"True\" or \"False\"");
  }

  std::optional<double> number(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number() || !std::isfinite(value->get<double>())) {
      fail(fmt::format("\"{}\" is {}", child(key), value->dump()), "write a finite number");
    }
    return value->get<double>();
  }

  void finish() const {
    for (const auto& item : json_.items()) {
      if (std::find(known_.begin(), known_.end(), item.key()) == known_.end()) {
        fail(fmt::format("\"{}\" is an unknown key", child(item.key())),
             fmt::format("use one of: {}", fmt::join(known_, ", ")));
      }
    }
  }

  std::string child(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }

  [[noreturn]] void fail(const std::string& what, const std::string& fix) const {
    throw Error(ErrorCode::kInvalidData, fmt::format("rules \"{}\"", file_), what, fix);
  }

  const Json& json() const { return json_; }
  const std::string& file() const { return file_; }

 private:
  const Json& json_;
  std::string path_;
  const std::string& file_;
  std::vector<std::string> known_;
};

ParameterRule read_parameter_rule(const Json& json, const std::string& path,
                                  const std::string& file) {
  Object object(json, path, file);
  ParameterRule rule{.is_quantized = object.boolean("is_quantized"),
                     .is_symmetric = object.boolean("is_symmetric")};
  object.finish();
  return rule;
}

std::map<std::string, ParameterRule, std::less<>> read_parameter_rules(const Json& json,
                                                                       const std::string& path,
                                                                       const std::string& file) {
  std::map<std::string, ParameterRule, std::less<>> rules;
  for (const auto& item : Object(json, path, file).json().items()) {
    rules.emplace(item.key(), read_parameter_rule(item.value(), path + "." + item.key(), file));
  }
  return rules;
}

KernelRule::Type read_kernel_type(const Json& json, const std::string& path,
                                  const std::string& file) {
  Object object(json, path, file);
  const Json& bits = object.require("bitwidth");
  const Json& dtype = object.require("dtype");
  object.finish();
  if (bits != 4 && bits != 8 && bits != 16 && bits != 32) {
    object.fail(fmt::format("\"{}\" is {}", object.child("bitwidth"), bits.dump()),
                "use one of: 4, 8, 16, 32");
  }
  if (dtype != "int" && dtype != "float") {
    object.fail(fmt::format("\"{}\" is {}", object.child("dtype"), dtype.dump()),
                "write \"int\" or \"float\"");
  }
  return {.bitwidth = bits.get<int>(), .is_float = dtype == "float"};
}

std::optional<std::vector<KernelRule>> read_kernels(Object& parent) {
  const Json* list = parent.find("supported_kernels");
  if (list == nullptr) return std::nullopt;
  const std::string path = parent.child("supported_kernels");
  if (!list->is_array())
    parent.fail(fmt::format("\"{}\" is not a list", path), "write [ ... ] there");
  std::vector<KernelRule> kernels;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string item_path = fmt::format("{}[{}]", path, i);
    Object object((*list)[i], item_path, parent.file());
    KernelRule kernel;
    kernel.activation =
        read_kernel_type(object.require("activation"), item_path + ".activation", parent.file());
    if (const Json* parameter = object.find("param")) {
      kernel.parameter = read_kernel_type(*parameter, item_path + ".param", parent.file());
    }
    object.finish();
    kernels.push_back(kernel);
  }
  return kernels;
}

std::optional<FixedRange> read_output_range(Object& parent) {
  const Json* json = parent.find("encoding_constraints");
  if (json == nullptr) return std::nullopt;
  const std::string path = parent.child("encoding_constraints");
  Object object(*json, path, parent.file());
  const std::optional<double> min = object.number("min");
  const std::optional<double> max = object.number("max");
  object.finish();
  if (!min)
    object.fail(fmt::format("key \"min\" is missing in \"{}\"", path),
                "add the lower bound of the range");
  if (max && *max <= *min) {
    object.fail(fmt::format("\"{}\" has max {} and min {}", path, *max, *min),
                "give a max above the min");
  }
  return FixedRange{min, max};
}

OperatorRule read_operator_rule(const Json& json, const std::string& path,
                                const std::string& file) {
  Object object(json, path, file);
  OperatorRule rule;
  rule.is_input_quantized = object.boolean("is_input_quantized");
  rule.is_output_quantized = object.boolean("is_output_quantized");
  rule.is_symmetric = object.boolean("is_symmetric");
  rule.per_channel = object.boolean("per_channel_quantization");
  if (const Json* parameters = object.find("params")) {
    rule.parameters = read_parameter_rules(*parameters, object.child("params"), file);
  }
  rule.output_range = read_output_range(object);
  rule.supported_kernels = read_kernels(object);
  object.finish();
  return rule;
}

int read_hw_version(Object& defaults) {
  const Json* json = defaults.find("hw_version");
  if (json == nullptr) return 0;
  const std::string text = json->is_string() ? json->get<std::string>() : "";
  const bool valid =
      text.size() >= 2 && text.size() <= 5 && text[0] == 'V' &&
      std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!valid) {
    defaults.fail(fmt::format("\"{}\" is {}", defaults.child("hw_version"), json->dump()),
                  "write a version such as \"V79\"");
  }
  return std::stoi(text.substr(1));
}

void read_defaults(const Json& json, Rules& rules, const std::string& file) {
  Object object(json, "defaults", file);
  Object operators(object.require("ops"), "defaults.ops", file);
  rules.defaults.is_input_quantized = operators.boolean("is_input_quantized");
  rules.defaults.is_output_quantized = operators.boolean("is_output_quantized");
  rules.defaults.is_symmetric = operators.boolean("is_symmetric");
  operators.finish();
  rules.default_parameters = read_parameter_rule(object.require("params"), "defaults.params", file);
  rules.strict_symmetric = object.boolean("strict_symmetric").value_or(false);
  rules.unsigned_symmetric = object.boolean("unsigned_symmetric").value_or(false);
  rules.defaults.per_channel = object.boolean("per_channel_quantization");
  rules.defaults.supported_kernels = read_kernels(object);
  rules.hw_version = read_hw_version(object);
  object.finish();
}

// The operator types of one place in a pattern: a name, or a list of alternatives.
std::vector<std::string> read_alternatives(const Json& json, const std::string& path,
                                           const Object& parent) {
  std::vector<std::string> types;
  for (const Json& type : json.is_array() ? json : Json::array({json})) {
    if (!type.is_string()) {
      parent.fail(fmt::format("\"{}\" holds {}", path, type.dump()),
                  "write operator types such as \"Conv\"");
    }
    types.push_back(type.get<std::string>());
  }
  return types;
}

void read_supergroups(const Json& json, Rules& rules, const Object& root) {
  if (!json.is_array()) root.fail("\"supergroups\" is not a list", "write [ ... ] there");
  for (std::size_t i = 0; i < json.size(); ++i) {
    Object object(json[i], fmt::format("supergroups[{}]", i), root.file());
    const Json& list = object.require("op_list");
    object.finish();
    if (!list.is_array() || list.size() < 2) {
      object.fail(fmt::format("\"{}\" is {}", object.child("op_list"), list.dump()),
                  "list two or more operator types");
    }
    std::vector<std::vector<std::string>> patterns = {{}};
    for (const Json& place : list) {
      std::vector<std::vector<std::string>> longer;
      for (const auto& pattern : patterns) {
        for (const std::string& type : read_alternatives(place, object.child("op_list"), root)) {
          longer.push_back(pattern);
          longer.back().push_back(type);
        }
      }
      patterns = std::move(longer);
    }
    rules.supergroups.insert(rules.supergroups.end(), patterns.begin(), patterns.end());
  }
}

void read_passes(const Json& json, Rules& rules, const Object& root) {
  if (!json.is_array()) root.fail("\"supergroup_pass_list\" is not a list", "write [ ... ] there");
  for (const Json& name : json) {
    const auto it = std::find_if(kPasses.begin(), kPasses.end(), [&](const auto& pass) {
      return name.is_string() && name == pass.first;
    });
    if (it == kPasses.end()) {
      std::vector<std::string_view> names;
      for (const auto& pass : kPasses) names.push_back(pass.first);
      root.fail(fmt::format("no pass of \"supergroup_pass_list\" is named {}", name.dump()),
                fmt::format("use one of: {}", fmt::join(names, ", ")));
    }
    rules.passes.push_back(it->second);
  }
}

std::optional<bool> read_single(const Json& json, const char* section, const char* key,
                                const std::string& file) {
  Object object(json, section, file);
  const std::optional<bool> value = object.boolean(key);
  object.finish();
  return value;
}

Rules read_rules(const Json& json, const std::string& name) {
  Rules rules;
  rules.name = name;
  Object root(json, "", rules.name);
  read_defaults(root.require("defaults"), rules, rules.name);
  rules.parameters = read_parameter_rules(root.require("params"), "params", rules.name);
  for (const auto& item : Object(root.require("op_type"), "op_type", rules.name).json().items()) {
    rules.op_types.emplace(item.key(),
                           read_operator_rule(item.value(), "op_type." + item.key(), rules.name));
  }
  read_supergroups(root.require("supergroups"), rules, root);
  if (const Json* passes = root.find("supergroup_pass_list")) read_passes(*passes, rules, root);
  rules.model_input =
      read_single(root.require("model_input"), "model_input", "is_input_quantized", rules.name);
  rules.model_output =
      read_single(root.require("model_output"), "model_output", "is_output_quantized", rules.name);
  root.finish();
  return rules;
}

Json parse_json(std::string_view text, const std::string& name) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw Error(ErrorCode::kInvalidData, fmt::format("rules \"{}\"", name),
                fmt::format("the file is not valid JSON near byte {}", error.byte),
                "correct the syntax there");
  }
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    throw Error(ErrorCode::kIo, fmt::format("rules \"{}\"", path.string()),
                "the file cannot be read", "check the path and its permissions");
  }
  return text.str();
}

struct Source {
  std::string text;
  std::filesystem::path folder;  // empty for built-in rules and for plain text
};

Source open_source(const std::string& alias_or_path, const std::filesystem::path& folder) {
  if (const std::string_view text = builtin_rules(alias_or_path); !text.empty())
    return {std::string(text), {}};
  const std::filesystem::path path = folder / alias_or_path;
  if (!std::filesystem::is_regular_file(path)) {
    throw Error(ErrorCode::kNotFound, "rules",
                fmt::format("\"{}\" is neither a built-in name nor a file", alias_or_path),
                fmt::format("{}use the path of a JSON file or one of: {}",
                            did_you_mean(alias_or_path, rules_aliases()),
                            fmt::join(rules_aliases(), ", ")));
  }
  return {read_text(path), path.parent_path()};
}

// Objects are merged key by key, everything else of `over` replaces what `base` has.
void merge_into(Json& base, const Json& over) {
  for (const auto& item : over.items()) {
    Json& target = base[item.key()];
    if (target.is_object() && item.value().is_object()) {
      merge_into(target, item.value());
    } else {
      target = item.value();
    }
  }
}

Json resolve(const Source& source, const std::string& name, std::vector<std::string> chain) {
  Json json = parse_json(source.text, name);
  if (!json.is_object() || !json.contains("extends")) return json;
  const Json base_name = json["extends"];
  const auto fail = [&](const std::string& what, const std::string& fix) {
    throw Error(ErrorCode::kInvalidData, fmt::format("rules \"{}\"", name), what, fix);
  };
  if (!base_name.is_string()) fail("\"extends\" is not a string", "name built-in rules or a file");
  chain.push_back(name);
  const auto base = base_name.get<std::string>();
  constexpr std::size_t kMaxDepth =
      16;  // spelled paths may differ and still meet: a limit ends every circle
  if (chain.size() > kMaxDepth || std::find(chain.begin(), chain.end(), base) != chain.end()) {
    fail(
        fmt::format("\"extends\" goes round in a circle: {} -> {}", fmt::join(chain, " -> "), base),
        "remove one of them");
  }
  Json merged = resolve(open_source(base, source.folder), base, std::move(chain));
  json.erase("extends");
  merge_into(merged, json);
  return merged;
}

}  // namespace

Rules load_rules(const std::string& alias_or_path) {
  return read_rules(resolve(open_source(alias_or_path, {}), alias_or_path, {}), alias_or_path);
}

Rules parse_rules(std::string_view text, const std::string& name) {
  return read_rules(resolve({std::string(text), {}}, name, {}), name);
}

}  // namespace bitsweep::graph
