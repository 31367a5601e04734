#include <algorithm>
#include <map>

#include "bitsweep/allocation.h"
#include "graph/placement/op_types.h"
#include "graph/placement/rules_file.h"
#include "simulate/engine.h"

namespace bitsweep {
namespace {

using graph::Operator;
using graph::TensorId;

constexpr int kNormMinBits = 8;
constexpr int kWideBits = 16;

/// The rules that placement applies to fresh quantizers, for quantizers whose format was changed.
/// Source: spec of the reference, quantsim section 6.2.
class PrecisionRules {
 public:
  explicit PrecisionRules(simulate::Engine& engine)
      : engine_(engine), hw_(graph::load_rules(engine.options().rules).hw_version) {
    const auto& sites = engine.placement().sites;
    for (std::size_t s = 0; s < sites.size(); ++s)
      quantizers_[sites[s].tensor] = engine.quantizer(static_cast<int>(s)).get();
  }

  void apply() {
    for (const Operator& op : engine_.placement().operators) {
      if (graph::is_normalization(op.type)) align_normalization(op);
      if (op.type == "MatMul") align_product(op);
    }
  }

 private:
  bool is_early() const { return hw_ == 66 || hw_ == 68 || hw_ == 69; }

  Quantizer* on(TensorId tensor) const {
    const auto it = quantizers_.find(tensor);
    return it == quantizers_.end() ? nullptr : it->second;
  }

  /// The enabled quantizer that a tensor's values come from.
  Quantizer* effective(TensorId tensor) const {
    const graph::Graph& graph = engine_.graph();
    while (tensor != graph::kAbsent) {
      Quantizer* q = on(tensor);
      if (q != nullptr && q->enabled()) return q;
      const int producer = graph.tensor(tensor).producer;
      if (producer < 0 || !graph::passes_values_through(graph, graph.node(producer))) break;
      tensor = graph.node(producer).inputs.front();
    }
    return nullptr;
  }

  void align_normalization(const Operator& op) const {
    const bool follows_width = op.type == "LayerNormalization" || op.type == "BatchNormalization";
    const Quantizer* output = op.outputs.empty() ? nullptr : on(op.outputs.front());
    for (const auto& [tensor, kind] : op.parameters) {
      Quantizer* q = on(tensor);
      if (q == nullptr || !q->enabled() || !q->format().is_integer()) continue;
      int bits = std::max(q->bitwidth(), kNormMinBits);
      bool symmetric = false;
      if (follows_width) {
        if (is_early()) bits = kNormMinBits;
        symmetric = bits >= kWideBits;
      } else if (output != nullptr) {
        symmetric = output->symmetric();
        if (output->format().is_integer()) bits = output->bitwidth();
      }
      q->set_bitwidth(bits);
      q->set_symmetric(symmetric);
    }
  }

  void align_product(const Operator& op) const {
    const bool has_weight = std::any_of(op.parameters.begin(), op.parameters.end(),
                                        [](const auto& p) { return p.second == "weight"; });
    if (hw_ == 0 || has_weight || op.inputs.size() < 2) return;
    Quantizer* first = effective(op.inputs[0]);
    Quantizer* second = effective(op.inputs[1]);
    if (first == nullptr || second == nullptr || !first->format().is_integer() ||
        !second->format().is_integer()) {
      return;
    }
    if (is_early()) {
      second->set_symmetric(true);
      second->set_bitwidth(kNormMinBits);
    } else if (second->bitwidth() == kWideBits) {
      second->set_symmetric(true);
      first->set_bitwidth(kWideBits);
    }
  }

  simulate::Engine& engine_;
  int hw_;
  std::map<TensorId, Quantizer*> quantizers_;
};

}  // namespace

void apply_precision_rules(Simulation& simulation) { PrecisionRules(simulation.engine()).apply(); }

}  // namespace bitsweep
