#include <fmt/format.h>

#include <algorithm>

#include "graph/placement/draft.h"
#include "graph/placement/op_types.h"

namespace bitsweep::graph {
namespace {

constexpr int kNormMinBits = 8;
constexpr int kWideBits = 16;

// Hardware of this generation has no 16-bit norms and no 16-bit second operand of MatMul.
bool is_early_hardware(int version) { return version == 66 || version == 68 || version == 69; }

// Symmetric flag that the rules give weights of an operator type. Rules by kind ("params") speak of
// static weights.
bool weight_symmetry(const Rules& rules, const std::string& op_type) {
  const bool symmetric = rules.default_parameters.is_symmetric.value_or(false);
  const auto op = rules.op_types.find(op_type);
  if (op == rules.op_types.end()) return symmetric;
  const auto weight = op->second.parameters.find("weight");
  if (weight == op->second.parameters.end()) return symmetric;
  return weight->second.is_symmetric.value_or(symmetric);
}

bool has_parameter(const Operator& op, const char* kind) {
  return std::any_of(op.parameters.begin(), op.parameters.end(),
                     [&](const auto& p) { return p.second == kind; });
}

// A weight that is computed at run time is an activation to the simulation, yet the kernel wants it
// like a weight.
void align_dynamic_weight(Draft& draft, const Operator& op) {
  if (!multiplies_by_weight(op.type) || op.inputs.size() < 2 || has_parameter(op, "weight")) return;
  const int site = draft.effective_site(op.inputs[1]);
  if (site >= 0) draft.quantizer(site).symmetric = weight_symmetry(draft.rules(), op.type);
}

void align_normalization(Draft& draft, const Operator& op) {
  if (!is_normalization(op.type)) return;
  const bool follows_width = op.type == "LayerNormalization" || op.type == "BatchNormalization";
  const int first = op.outputs.empty() ? -1 : draft.site_of(op.outputs[0]);
  const QuantizerDraft* output =
      first >= 0 && draft.quantizer(first).enabled ? &draft.quantizer(first) : nullptr;
  for (const auto& [tensor, kind] : op.parameters) {
    QuantizerDraft& quantizer = draft.quantizer(draft.site_of(tensor));
    if (!quantizer.enabled || !quantizer.format.is_integer()) continue;
    int& bits = quantizer.format.bitwidth;
    bits = std::max(bits, kNormMinBits);
    if (follows_width) {
      if (is_early_hardware(draft.rules().hw_version)) bits = kNormMinBits;
      quantizer.symmetric = bits >= kWideBits;
    } else {
      quantizer.symmetric = output != nullptr && output->symmetric;
      if (output != nullptr) bits = output->format.bitwidth;
    }
  }
}

// Hardware multiplies an 8-bit or 16-bit operand by a symmetric second one.
void align_matmul_of_activations(Draft& draft, const Operator& op) {
  const int hw = draft.rules().hw_version;
  if (hw == 0 || op.type != "MatMul" || op.inputs.size() < 2 || has_parameter(op, "weight")) return;
  const int first = draft.effective_site(op.inputs[0]);
  const int second = draft.effective_site(op.inputs[1]);
  if (first < 0 || second < 0) return;
  QuantizerDraft& a = draft.quantizer(first);
  QuantizerDraft& b = draft.quantizer(second);
  if (!a.format.is_integer() || !b.format.is_integer()) return;
  if (is_early_hardware(hw)) {
    b.symmetric = true;
    b.format.bitwidth = kNormMinBits;
  } else if (b.format.bitwidth == kWideBits) {
    b.symmetric = true;
    a.format.bitwidth = kWideBits;
  }
}

// Channels of a grouped transposed convolution repeat in every group: axis 1 does not count all of
// them.
void align_grouped_transposed_convolution(Draft& draft, const Operator& op) {
  if (op.type != "ConvTranspose" || draft.graph().node(op.nodes[0]).int_attribute("group", 1) == 1)
    return;
  for (const auto& [tensor, kind] : op.parameters) {
    if (kind == "weight") draft.quantizer(draft.site_of(tensor)).per_channel = false;
  }
}

}  // namespace

void apply_exception_rules(Draft& draft) {
  for (const Operator& op : draft.operators()) align_dynamic_weight(draft, op);
  apply_operator_rules(draft);
}

void apply_operator_rules(Draft& draft) {
  for (const Operator& op : draft.operators()) {
    align_normalization(draft, op);
    align_matmul_of_activations(draft, op);
    align_grouped_transposed_convolution(draft, op);
  }
}

}  // namespace bitsweep::graph
