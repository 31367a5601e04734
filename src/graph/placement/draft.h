#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/placement.h"
#include "graph/placement/operators.h"
#include "graph/placement/rules_file.h"

namespace bitsweep::graph {

/// Settings of one quantizer; tied sites share one.
struct QuantizerDraft {
  bool enabled = false;
  Format format;
  bool symmetric = false;
  bool strict_symmetric = false;
  bool unsigned_symmetric = false;
  bool per_channel = false;
  std::optional<FixedRange> fixed_range;
};

/// A placement in the making: the steps of place_quantizers() pass it on.
class Draft {
 public:
  Draft(const Graph& graph, const Rules& rules, const PlacementOptions& options);

  const Graph& graph() const { return graph_; }
  const Rules& rules() const { return rules_; }
  const PlacementOptions& options() const { return options_; }
  const OperatorGraph& operator_graph() const { return operators_; }
  const std::vector<Operator>& operators() const { return operators_.operators; }

  /// Tensor, role, kind and axes of a site; its settings are in quantizer().
  const std::vector<Site>& sites() const { return sites_; }
  /// -1 when the tensor has no site.
  int site_of(TensorId tensor) const { return tensor == kAbsent ? -1 : site_of_tensor_[tensor]; }
  const std::vector<TensorId>& input_quantizers() const { return input_quantizers_; }

  QuantizerDraft& quantizer(int site) { return quantizers_[quantizer_of_site_[site]]; }
  const QuantizerDraft& quantizer(int site) const { return quantizers_[quantizer_of_site_[site]]; }
  bool share_quantizer(int a, int b) const {
    return quantizer_of_site_[a] == quantizer_of_site_[b];
  }
  /// True when another site uses the quantizer of this one.
  bool is_shared(int site) const;
  /// `site` uses the quantizer of `owner` from now on.
  void tie(int site, int owner) { quantizer_of_site_[site] = quantizer_of_site_[owner]; }
  /// Every site that uses the quantizer of `site` uses that of `owner` from now on.
  void tie_all(int site, int owner);

  /// Remembers why a site is as it is; the last word stays.
  void set_reason(int site, std::string reason) { sites_[site].reason = std::move(reason); }

  /// Sites of an operator's non-parameter inputs and of its outputs.
  std::vector<int> input_sites(const Operator& op) const;
  std::vector<int> output_sites(const Operator& op) const;

  /// The enabled site whose quantizer decides the values of `tensor`: its own, or the closest one
  /// upstream that is reached through data movement and casts between floating-point types only; -1
  /// when there is none.
  int effective_site(TensorId tensor) const;

  /// The finished sites, with settings and ties.
  std::vector<Site> finish() const;
  /// Takes settings and ties from finished sites of the same graph.
  void load(const std::vector<Site>& sites);

 private:
  void add_parameters();
  void add_activations();
  void add_activation(TensorId tensor);
  int add_site(TensorId tensor, TensorRole role);

  const Graph& graph_;
  const Rules& rules_;
  const PlacementOptions& options_;
  OperatorGraph operators_;
  std::vector<Site> sites_;
  std::vector<int> site_of_tensor_;
  std::vector<int> quantizer_of_site_;
  std::vector<QuantizerDraft> quantizers_;
  std::vector<TensorId> input_quantizers_;
};

/// Applies the rules file to a draft whose quantizers are all off.
/// @throws Error(kInvalidArgument) when two rules of the same level disagree about a tensor.
void apply_rules(Draft& draft);

/// Rules that hold whatever the file says: weights computed at run time, normalizations, MatMul of
/// two activations, grouped transposed convolutions.
void apply_exception_rules(Draft& draft);
/// Those of them that hold for settings of the user too: all but that of computed weights.
void apply_operator_rules(Draft& draft);

/// Lets tensors share a quantizer where the operator between them keeps the grid: Concat, Relu,
/// Resize, LSTM, ...
void tie_quantizers(Draft& draft);

/// place_quantizers() with rules at hand; PlacementOptions::rules is not read.
Placement place_quantizers(const Graph& graph, const Rules& rules, const PlacementOptions& options);

/// Tensors that are or may be of floating-point type and have no site, and why.
std::vector<SkippedTensor> explain_skipped(const Draft& draft);

}  // namespace bitsweep::graph
