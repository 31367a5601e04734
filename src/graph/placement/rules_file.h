#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bitsweep::graph {

/// Values of an operator's output that are known beforehand; an absent side is observed.
using FixedRange = std::pair<std::optional<double>, std::optional<double>>;

/// What a rules file says of parameters (weights, biases, ...); absent fields leave what was
/// decided before.
struct ParameterRule {
  std::optional<bool> is_quantized;
  std::optional<bool> is_symmetric;
};

/// A pair of numeric types the target has a kernel for.
struct KernelRule {
  struct Type {
    int bitwidth = 8;
    bool is_float = false;
  };
  Type activation;
  std::optional<Type> parameter;
};

/// What a rules file says of one operator type.
struct OperatorRule {
  std::optional<bool> is_input_quantized;
  std::optional<bool> is_output_quantized;
  std::optional<bool> is_symmetric;
  std::optional<bool> per_channel;
  std::map<std::string, ParameterRule, std::less<>> parameters;
  std::optional<FixedRange> output_range;
  std::optional<std::vector<KernelRule>> supported_kernels;
};

/// Graph patterns that are read as one operator.
enum class FusionPass { kMatmulAdd, kLayerNormalization, kRmsNormalization, kMaskedSoftmax };

/// A rules file: which tensors a target quantizes and how. docs/rules_file.md describes the JSON
/// form.
struct Rules {
  std::string name;       ///< alias or path, for messages
  OperatorRule defaults;  ///< of every operator; its `parameters` and `output_range` are empty
  ParameterRule default_parameters;
  bool strict_symmetric = false;
  bool unsigned_symmetric = false;
  int hw_version = 0;  ///< 66 for "V66"; 0: not tied to a hardware version
  std::map<std::string, ParameterRule, std::less<>> parameters;  ///< by kind: "weight", "bias", ...
  std::map<std::string, OperatorRule, std::less<>> op_types;
  std::vector<std::vector<std::string>> supergroups;
  std::vector<FusionPass> passes;
  std::optional<bool> model_input;
  std::optional<bool> model_output;
};

/// Rules by alias ("default", "htp_v79", ...) or by path of a JSON file.
/// @throws Error(kNotFound) when it is neither, Error(kInvalidArgument) when the file does not
/// follow the schema.
Rules load_rules(const std::string& alias_or_path);

/// Rules from JSON text; `name` is used in messages. "extends" takes aliases only, as text has no
/// folder.
/// @throws Error(kInvalidArgument).
Rules parse_rules(std::string_view text, const std::string& name);

/// Aliases of the built-in rules, sorted.
std::vector<std::string> rules_aliases();

/// Built-in rules text of an alias; empty when there is none (generated from src/graph/rules at
/// build time).
std::string_view builtin_rules(std::string_view alias);

}  // namespace bitsweep::graph
