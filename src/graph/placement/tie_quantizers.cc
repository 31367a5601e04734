#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/placement/draft.h"
#include "graph/placement/op_types.h"

namespace bitsweep::graph {
namespace {

// True when what the tensor holds ends up in `target` only, on whatever way: a new grid harms
// nobody else.
bool is_read_only_by(const Draft& draft, TensorId tensor, int target) {
  const Graph& graph = draft.graph();
  for (const Use& use : graph.tensor(tensor).uses) {
    if (use.input < 0) return false;
    if (draft.operator_graph().operator_of_node[use.node] == target) continue;
    const Node& reader = graph.node(use.node);
    if (use.input != 0 || !passes_values_through(graph, reader)) return false;
    for (const TensorId output : reader.outputs) {
      if (output == kAbsent) continue;
      if (graph.tensor(output).is_output || !is_read_only_by(draft, output, target)) return false;
    }
  }
  return true;
}

// True when the values of `site` reach operator `target` as its input `tensor` on a path that
// nobody leaves: all that the nodes on it put out is read on the path or by `target`.
bool has_private_path(const Draft& draft, int site, TensorId tensor, int target) {
  const Graph& graph = draft.graph();
  std::vector<int> readers = {target};
  for (;;) {
    const int producer = graph.tensor(tensor).producer;
    const std::vector<TensorId> outputs =
        producer < 0 ? std::vector<TensorId>{tensor} : graph.node(producer).outputs;
    for (const TensorId output : outputs) {
      if (output == kAbsent) continue;
      for (const Use& use : graph.tensor(output).uses) {
        const int reader = draft.operator_graph().operator_of_node[use.node];
        if (use.input < 0 || std::find(readers.begin(), readers.end(), reader) == readers.end())
          return false;
      }
    }
    if (tensor == draft.sites()[site].tensor) return true;
    readers.push_back(draft.operator_graph().operator_of_node[producer]);
    tensor = graph.node(producer).inputs[0];
  }
}

bool is_activation(const Draft& draft, int site) {
  return site >= 0 && draft.sites()[site].role == TensorRole::kActivation;
}

// The site of the first output when it is on.
int enabled_output(const Draft& draft, const Operator& op) {
  const int site = op.outputs.empty() ? -1 : draft.site_of(op.outputs[0]);
  return site >= 0 && draft.quantizer(site).enabled ? site : -1;
}

// Concat and its kin: inputs that nobody else reads take the grid of the output.
void tie_backward(Draft& draft, int index) {
  const Operator& op = draft.operators()[index];
  const int output = enabled_output(draft, op);
  if (output < 0) return;
  std::vector<std::pair<TensorId, int>> inputs;  // with the site that decides their values
  for (const TensorId input : op.inputs) {
    const int site = draft.effective_site(input);
    if (is_activation(draft, site)) inputs.emplace_back(input, site);
  }
  if (inputs.empty()) return;
  QuantizerDraft& shared = draft.quantizer(output);
  const std::optional<FixedRange> range = draft.quantizer(inputs[0].second).fixed_range;
  // A quantizer that serves a later Concat already must not get a range that other inputs there
  // don't have.
  const bool same_range = std::all_of(inputs.begin(), inputs.end(),
                                      [&](const auto& input) {
                                        return draft.quantizer(input.second).fixed_range == range;
                                      }) &&
                          (shared.fixed_range == range || !draft.is_shared(output));
  if (same_range) shared.fixed_range = range;
  for (const auto& [tensor, site] : inputs) {
    if (!same_range && draft.quantizer(site).fixed_range) continue;
    if (has_private_path(draft, site, tensor, index)) draft.tie(site, output);
  }
}

// Settings that serve both quantizers; nullopt when there are none.
std::optional<QuantizerDraft> merge(const QuantizerDraft& kept, const QuantizerDraft& dropped) {
  QuantizerDraft merged = kept;
  if (kept.format.is_integer() != dropped.format.is_integer()) return std::nullopt;
  merged.format.bitwidth = std::min(kept.format.bitwidth, dropped.format.bitwidth);
  merged.symmetric |= dropped.symmetric;
  merged.unsigned_symmetric |= dropped.unsigned_symmetric;
  if (!kept.fixed_range) merged.fixed_range = dropped.fixed_range;
  if (kept.fixed_range && dropped.fixed_range && kept.fixed_range != dropped.fixed_range)
    return std::nullopt;
  if (merged.symmetric && merged.fixed_range) {
    auto& [min, max] = *merged.fixed_range;
    if (!min || !max) return std::nullopt;  // a symmetric grid has no half that could be left open
    max = std::max(std::abs(*min), std::abs(*max));
    min = -*max;
  }
  return merged;
}

// Relu and its kin: the output takes the grid of the input.
void tie_forward(Draft& draft, int index) {
  const Operator& op = draft.operators()[index];
  const int output = enabled_output(draft, op);
  if (output < 0 || op.inputs.empty()) return;
  const int input = draft.effective_site(op.inputs[0]);
  if (!is_activation(draft, input) || draft.share_quantizer(input, output)) return;
  const std::optional<FixedRange>& range = draft.quantizer(output).fixed_range;
  // The range of the output would clip what the model and other readers get from the input.
  const TensorId source = draft.sites()[input].tensor;
  if (range && range != draft.quantizer(input).fixed_range &&
      (draft.graph().tensor(source).is_output || !is_read_only_by(draft, source, index))) {
    return;
  }
  const std::optional<QuantizerDraft> merged =
      merge(draft.quantizer(input), draft.quantizer(output));
  if (!merged) return;
  draft.quantizer(input) = *merged;
  draft.tie(output, input);
}

// RNN, LSTM, GRU: the state goes round, so input, states and outputs live on one grid, the cell on
// another.
void tie_recurrent(Draft& draft, const Operator& op) {
  constexpr std::size_t kInitialH = 5;
  constexpr std::size_t kInitialC = 6;
  const auto input = [&](std::size_t i) {
    return i < op.inputs.size() ? draft.effective_site(op.inputs[i]) : -1;
  };
  const auto output = [&](std::size_t i) {
    return i < op.outputs.size() ? draft.site_of(op.outputs[i]) : -1;
  };
  const auto join = [&](int site, int owner) {
    if (is_activation(draft, site) && owner >= 0) draft.tie_all(site, owner);
  };
  const int hidden = output(0) >= 0 ? output(0) : output(1);
  join(output(1), hidden);
  // An output that is off must not switch off what feeds it.
  if (hidden >= 0 && draft.quantizer(hidden).enabled) {
    join(input(0), hidden);
    join(input(kInitialH), hidden);
  }
  const int cell = op.type == "LSTM" ? output(2) : -1;
  if (cell >= 0 && draft.quantizer(cell).enabled) join(input(kInitialC), cell);
}

}  // namespace

void tie_quantizers(Draft& draft) {
  const int count = static_cast<int>(draft.operators().size());
  for (int i = count - 1; i >= 0; --i) {
    if (joins_inputs(draft.operators()[i].type)) tie_backward(draft, i);
  }
  for (int i = 0; i < count; ++i) {
    if (keeps_range(draft.operators()[i].type)) tie_forward(draft, i);
  }
  for (int i = 0; i < count; ++i) {
    if (is_recurrent(draft.operators()[i].type)) tie_recurrent(draft, draft.operators()[i]);
  }
}

}  // namespace bitsweep::graph
