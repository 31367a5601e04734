#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "bitsweep/error.h"
#include "graph/placement/draft.h"
#include "graph/placement/fusions/fusion.h"
#include "graph/placement/op_types.h"
#include "graph/placement/supergroups.h"

namespace bitsweep::graph {
namespace {

// One level of the rules file: a later level may overrule it, but within it every tensor gets one
// value per setting.
class Level {
 public:
  explicit Level(Draft& draft) : draft_(draft) {}

  void set_enabled(int site, std::optional<bool> on, const std::string& rule) {
    if (!on || !agree(enabled_, "quantized", site, *on, rule)) return;
    draft_.quantizer(site).enabled = *on;
    draft_.set_reason(site, rule);
  }

  void set_symmetric(int site, std::optional<bool> on, const std::string& rule) {
    if (!on || !agree(symmetric_, "symmetric", site, *on, rule)) return;
    draft_.quantizer(site).symmetric = *on;
  }

 private:
  using Said = std::map<int, std::pair<bool, std::string>>;

  // True; throws when the level said otherwise before.
  bool agree(Said& said, const char* what, int site, bool on, const std::string& rule) {
    const auto [it, added] = said.try_emplace(site, on, rule);
    if (!added && it->second.first != on) {
      throw Error(ErrorCode::kInvalidData, fmt::format("rules \"{}\"", draft_.rules().name),
                  fmt::format("tensor \"{}\" shall be {} by {} and not by {}",
                              draft_.graph().tensor(draft_.sites()[site].tensor).name, what,
                              on ? rule : it->second.second, on ? it->second.second : rule),
                  "make the two rules agree or drop one");
    }
    return true;
  }

  Draft& draft_;
  Said enabled_;
  Said symmetric_;
};

bool is_parameter(const Draft& draft, int site) {
  return draft.sites()[site].role == TensorRole::kParameter;
}

// What no operator produces at run time: graph inputs, initializers, outputs of Constant nodes.
std::vector<int> sites_without_operator(const Draft& draft) {
  std::vector<int> sites;
  for (int site = 0; site < static_cast<int>(draft.sites().size()); ++site) {
    const TensorInfo& info = draft.graph().tensor(draft.sites()[site].tensor);
    if (!is_parameter(draft, site) && (info.is_static || info.producer < 0)) sites.push_back(site);
  }
  return sites;
}

void apply_defaults(Draft& draft) {
  const Rules& rules = draft.rules();
  Level level(draft);
  for (const Operator& op : draft.operators()) {
    for (const int site : draft.output_sites(op)) {
      level.set_enabled(site, rules.defaults.is_output_quantized,
                        "defaults.ops.is_output_quantized");
      level.set_symmetric(site, rules.defaults.is_symmetric, "defaults.ops.is_symmetric");
    }
    for (const int site : draft.input_sites(op)) {
      if (rules.defaults.is_input_quantized.value_or(false)) {
        level.set_enabled(site, true, "defaults.ops.is_input_quantized");
      }
      level.set_symmetric(site, rules.defaults.is_symmetric, "defaults.ops.is_symmetric");
    }
  }
  for (int site = 0; site < static_cast<int>(draft.sites().size()); ++site) {
    QuantizerDraft& quantizer = draft.quantizer(site);
    quantizer.strict_symmetric = rules.strict_symmetric;
    quantizer.unsigned_symmetric = rules.unsigned_symmetric;
    if (!is_parameter(draft, site)) continue;
    level.set_enabled(site, rules.default_parameters.is_quantized, "defaults.params.is_quantized");
    level.set_symmetric(site, rules.default_parameters.is_symmetric,
                        "defaults.params.is_symmetric");
  }
}

void apply_parameter_kinds(Draft& draft) {
  Level level(draft);
  for (int site = 0; site < static_cast<int>(draft.sites().size()); ++site) {
    const std::string& kind = draft.sites()[site].parameter_kind;
    const auto rule = draft.rules().parameters.find(kind);
    if (!is_parameter(draft, site) || rule == draft.rules().parameters.end()) continue;
    level.set_enabled(site, rule->second.is_quantized, fmt::format("params.{}.is_quantized", kind));
    level.set_symmetric(site, rule->second.is_symmetric,
                        fmt::format("params.{}.is_symmetric", kind));
  }
}

// Data movement keeps the grid of its input, so it needs no quantizer unless the file has a rule
// for the type.
void switch_off_data_movement(Draft& draft) {
  for (const Operator& op : draft.operators()) {
    if (!moves_data(op.type) || draft.rules().op_types.contains(op.type)) continue;
    for (const int site : draft.output_sites(op)) {
      draft.quantizer(site).enabled = false;
      draft.set_reason(site, op.type + " moves data: its output keeps the grid of its input");
    }
  }
}

void set_range(Draft& draft, int site, const FixedRange& range) {
  QuantizerDraft& quantizer = draft.quantizer(site);
  quantizer.fixed_range = range;
  const auto [min, max] = range;
  constexpr double kRelativeTolerance = 1e-9;  // decimal text of both bounds
  if (min && max && std::abs(*min + *max) <= kRelativeTolerance * std::abs(*max))
    quantizer.symmetric = true;
}

void apply_op_types(Draft& draft) {
  Level level(draft);
  for (const Operator& op : draft.operators()) {
    const auto found = draft.rules().op_types.find(op.type);
    if (found == draft.rules().op_types.end()) continue;
    const OperatorRule& rule = found->second;
    const std::string path = "op_type." + op.type;
    for (const int site : draft.input_sites(op)) {
      level.set_enabled(site, rule.is_input_quantized, path + ".is_input_quantized");
      level.set_symmetric(site, rule.is_symmetric, path + ".is_symmetric");
    }
    for (const int site : draft.output_sites(op)) {
      level.set_enabled(site, rule.is_output_quantized, path + ".is_output_quantized");
      level.set_symmetric(site, rule.is_symmetric, path + ".is_symmetric");
      if (rule.output_range) set_range(draft, site, *rule.output_range);
    }
    for (const auto& [tensor, kind] : op.parameters) {
      const auto parameter = rule.parameters.find(kind);
      if (parameter == rule.parameters.end()) continue;
      const int site = draft.site_of(tensor);
      level.set_enabled(site, parameter->second.is_quantized,
                        fmt::format("{}.params.{}.is_quantized", path, kind));
      level.set_symmetric(site, parameter->second.is_symmetric,
                          fmt::format("{}.params.{}.is_symmetric", path, kind));
    }
  }
}

std::vector<LooseMatmulAdd> loose_matmul_adds(const Draft& draft) {
  const auto& passes = draft.rules().passes;
  if (std::find(passes.begin(), passes.end(), FusionPass::kMatmulAdd) == passes.end()) return {};
  return find_loose_matmul_add(draft.graph());
}

void apply_supergroups(Draft& draft, const std::vector<LooseMatmulAdd>& loose) {
  std::vector<bool> barred(draft.operators().size(), false);
  for (const LooseMatmulAdd& pair : loose) {
    barred[draft.operator_graph().operator_of_node[pair.matmul]] = true;
    barred[draft.operator_graph().operator_of_node[pair.add]] = true;
  }
  for (const SupergroupMatch& match : find_supergroups(draft, barred)) {
    for (std::size_t i = 0; i + 1 < match.operators.size(); ++i) {
      for (const int site : draft.output_sites(draft.operators()[match.operators[i]])) {
        draft.quantizer(site).enabled = false;
        draft.set_reason(site, fmt::format("supergroup {}: only the last output is quantized",
                                           fmt::join(*match.pattern, "-")));
      }
    }
  }
}

// Bodies of If, Loop and Scan stay in float, so that they are no readers to the rules.
bool only_bodies_read(const TensorInfo& tensor) {
  return std::all_of(tensor.uses.begin(), tensor.uses.end(),
                     [](const Use& use) { return use.input < 0; });
}

void apply_model_input(Draft& draft) {
  // Nobody but an operator's own input rule may quantize what the model is fed with, unless
  // model_input says so.
  if (!draft.rules().model_input) return;
  Level level(draft);
  for (const int site : sites_without_operator(draft)) {
    const TensorInfo& tensor = draft.graph().tensor(draft.sites()[site].tensor);
    if (only_bodies_read(tensor)) {
      draft.set_reason(site, tensor.uses.empty()
                                 ? "nobody reads it"
                                 : "read only inside of bodies, which stay in float");
      continue;
    }
    level.set_enabled(site, draft.rules().model_input, "model_input.is_input_quantized");
  }
}

void apply_model_output(Draft& draft) {
  Level level(draft);
  for (const Operator& op : draft.operators()) {
    const bool is_last = std::all_of(op.outputs.begin(), op.outputs.end(), [&](TensorId output) {
      return output == kAbsent || only_bodies_read(draft.graph().tensor(output));
    });
    if (!is_last) continue;
    for (const int site : draft.output_sites(op)) {
      level.set_enabled(site, draft.rules().model_output, "model_output.is_output_quantized");
    }
  }
}

void apply_per_channel(Draft& draft) {
  std::vector<bool> decided(draft.sites().size(), false);
  for (const Operator& op : draft.operators()) {
    const auto rule = draft.rules().op_types.find(op.type);
    std::optional<bool> on = draft.rules().defaults.per_channel;
    if (rule != draft.rules().op_types.end() && rule->second.per_channel)
      on = rule->second.per_channel;
    for (const auto& [tensor, kind] : op.parameters) {
      const int site = draft.site_of(tensor);
      if (decided[site]) continue;  // a shared parameter follows its first operator
      decided[site] = true;
      draft.quantizer(site).per_channel =
          on.value_or(false) && draft.sites()[site].channel_axis >= 0;
      if (on.value_or(false) && draft.sites()[site].channel_axis < 0) {
        draft.set_reason(site, fmt::format("{}; per tensor: the {} of {} has no channel axis",
                                           draft.sites()[site].reason, kind, op.type));
      }
    }
  }
}

void switch_off_inside(Draft& draft, const std::vector<LooseMatmulAdd>& loose) {
  for (const LooseMatmulAdd& pair : loose) {
    for (const TensorId tensor : {draft.graph().node(pair.matmul).outputs[0], pair.bias}) {
      const int site = draft.site_of(tensor);
      if (site < 0) continue;
      draft.quantizer(site).enabled = false;
      draft.set_reason(site, "supergroup pass MatmulAdd: only the sum is quantized");
    }
  }
}

// A cast on the way from a parameter to its operator: the parameter is quantized already.
void switch_off_behind_parameters(Draft& draft) {
  for (int site = 0; site < static_cast<int>(draft.sites().size()); ++site) {
    const TensorId tensor = draft.sites()[site].tensor;
    if (is_parameter(draft, site) || producer_of_type(draft.graph(), tensor, "Cast") < 0) continue;
    const TensorId source = parameter_source(draft.graph(), tensor).tensor;
    const int parameter = draft.site_of(source);
    if (parameter < 0 || !is_parameter(draft, parameter)) continue;
    draft.quantizer(site).enabled = false;
    draft.set_reason(
        site, fmt::format("hands the parameter \"{}\" on", draft.graph().tensor(source).name));
  }
}

}  // namespace

void apply_rules(Draft& draft) {
  apply_defaults(draft);
  apply_parameter_kinds(draft);
  switch_off_data_movement(draft);
  apply_op_types(draft);
  const std::vector<LooseMatmulAdd> loose = loose_matmul_adds(draft);
  apply_supergroups(draft, loose);
  apply_model_input(draft);
  apply_model_output(draft);
  apply_per_channel(draft);
  switch_off_inside(draft, loose);
  switch_off_behind_parameters(draft);
}

}  // namespace bitsweep::graph
