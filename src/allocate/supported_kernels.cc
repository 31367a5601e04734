#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "bitsweep/allocation.h"
#include "bitsweep/error.h"
#include "graph/placement/rules_file.h"
#include "simulate/engine.h"
#include "simulate/network/network.h"

namespace bitsweep {

namespace {

using Kernels = std::vector<Candidate>;

constexpr char kDefaults[] = "defaults";  // holds for operator types without a list of their own

bool contains(const Kernels& list, const Candidate& candidate) {
  return std::find(list.begin(), list.end(), candidate) != list.end();
}

std::string text_of(const Kernels& list) {
  std::string text;
  for (const Candidate& c : list) text += (text.empty() ? "" : ", ") + candidate_text(c);
  return text;
}

Format format_of(const graph::KernelRule::Type& type) {
  return type.is_float ? Format::parse("float" + std::to_string(type.bitwidth))
                       : Format::integer(type.bitwidth);
}

Kernels kernels_of(const std::vector<graph::KernelRule>& rules) {
  Kernels kernels;
  for (const graph::KernelRule& rule : rules) {
    Candidate kernel{.activation = format_of(rule.activation), .parameter = std::nullopt};
    if (rule.parameter) kernel.parameter = format_of(*rule.parameter);
    kernels.push_back(kernel);
  }
  return kernels;
}

/// Candidates that a kernel list holds. A list without parameters compares activations only.
Kernels common(const Kernels& kernels, const Kernels& candidates) {
  const bool activation_only = !kernels.empty() && !kernels.front().parameter;
  Kernels result;
  for (Candidate c : candidates) {
    if (activation_only) c.parameter.reset();
    if (contains(kernels, c) && !contains(result, c)) result.push_back(c);
  }
  return result;
}

/// Operator type that decides which kernels a quantizer has: its producer for outputs, its reader
/// for parameters and graph inputs. Of several the last one counts.
std::map<std::string, std::string> deciding_types(const Simulation& simulation) {
  const std::vector<std::string>& list = simulation.parameter_names();
  const std::set<std::string> parameters(list.begin(), list.end());
  std::set<std::string> graph_inputs;
  for (const ValueInfo& input : simulation.model().inputs()) graph_inputs.insert(input.name);
  std::map<std::string, std::string> types;
  for (const OperatorInfo& op : simulation.operators()) {
    for (const std::string& input : op.inputs) {
      if (parameters.contains(input) || graph_inputs.contains(input)) types[input] = op.type;
    }
    for (const auto& [tensor, kind] : op.parameters) types[tensor] = op.type;
    for (const std::string& output : op.outputs) types[output] = op.type;
  }
  return types;
}

class Filter {
 public:
  Filter(const Simulation& simulation, const Kernels& candidates)
      : types_(deciding_types(simulation)),
        candidates_(candidates),
        rules_name_(simulation.engine().network().placement().rules_name),
        by_type_(supported_kernels(simulation)) {
    if (auto defaults = by_type_.extract(kDefaults)) defaults_ = std::move(defaults.mapped());
  }

  bool has_kernels() const { return !by_type_.empty() || (defaults_ && !defaults_->empty()); }

  Kernels of_group(const QuantizerGroup& group) const {
    std::optional<Kernels> whole;
    std::optional<Kernels> activation_only;
    for (const auto* names : {&group.activations, &group.parameters}) {
      for (const std::string& name : *names) {
        const Kernels found = of_quantizer(name);
        std::optional<Kernels>& set = found.front().parameter ? whole : activation_only;
        set = set ? common(found, *set) : found;
      }
    }
    Kernels result;
    if (whole && activation_only) {
      for (const Candidate& c : *whole) {
        if (contains(*activation_only, {c.activation, std::nullopt})) result.push_back(c);
      }
    } else {
      result = whole ? *whole : *activation_only;
    }
    if (result.empty()) {
      throw Error(ErrorCode::kInvalidArgument, "supported kernels",
                  "the operators around \"" + group_name(group) + "\" have no candidate in common",
                  "add candidates that all of them support");
    }
    std::stable_sort(result.begin(), result.end(), [](const Candidate& a, const Candidate& b) {
      const auto key = [](const Candidate& c) {
        return std::pair(c.activation.bitwidth, c.parameter ? c.parameter->bitwidth : 0);
      };
      return key(a) > key(b);
    });
    return result;
  }

 private:
  Kernels of_quantizer(const std::string& name) const {
    const auto type = types_.find(name);
    const auto listed = type == types_.end() ? by_type_.end() : by_type_.find(type->second);
    const bool by_type = listed != by_type_.end();
    if (!by_type && !defaults_) {
      throw Error(ErrorCode::kInvalidArgument, "supported kernels",
                  "the rules \"" + rules_name_ +
                      "\" list kernels of operator types but none among "
                      "the defaults",
                  "add supported_kernels to \"defaults\"");
    }
    const Kernels& kernels = by_type ? listed->second : *defaults_;
    Kernels found = common(kernels, candidates_);
    if (found.empty()) {
      const std::string what = by_type ? type->second : "operators without a list of their own";
      throw Error(ErrorCode::kInvalidArgument, "supported kernels",
                  "no candidate (" + text_of(candidates_) + ") is supported for " + what,
                  "add one of: " + text_of(kernels));
    }
    return found;
  }

  std::map<std::string, std::string> types_;
  Kernels candidates_;
  std::string rules_name_;
  std::map<std::string, Kernels> by_type_;
  std::optional<Kernels> defaults_;
};

}  // namespace

std::map<std::string, Kernels> supported_kernels(const Simulation& simulation) {
  const graph::Rules& rules = *simulation.engine().network().placement().rules;
  std::map<std::string, Kernels> result;
  if (rules.defaults.supported_kernels)
    result[kDefaults] = kernels_of(*rules.defaults.supported_kernels);
  for (const auto& [type, rule] : rules.op_types) {
    if (rule.supported_kernels) result[type] = kernels_of(*rule.supported_kernels);
  }
  return result;
}

SupportedCandidates supported_candidates(const Simulation& simulation,
                                         const std::vector<QuantizerGroup>& groups,
                                         const std::vector<Candidate>& candidates,
                                         bool ignore_kernels) {
  if (candidates.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "mixed precision", "no candidate is given",
                "pass at least one pair of activation and parameter types");
  }
  Kernels distinct;
  for (const Candidate& c : candidates) {
    if (!contains(distinct, c)) distinct.push_back(c);
  }
  const Filter filter(simulation, distinct);
  SupportedCandidates result;
  if (ignore_kernels || !filter.has_kernels()) {
    result.by_group.assign(groups.size(), distinct);
    result.options = distinct;
    return result;
  }
  for (const QuantizerGroup& group : groups) result.by_group.push_back(filter.of_group(group));
  for (const Candidate& c : distinct) {
    const bool used = std::any_of(result.by_group.begin(), result.by_group.end(),
                                  [&](const Kernels& list) { return contains(list, c); });
    if (used) result.options.push_back(c);
  }
  if (result.options.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "supported kernels",
                "no group can take a whole candidate (" + text_of(distinct) + ")",
                "add candidates that the rules list with a parameter type");
  }
  return result;
}

}  // namespace bitsweep
