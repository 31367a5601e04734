#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/format.h"
#include "graph/graph.h"

namespace bitsweep::graph {

struct Rules;

/// An operator as the placement rules see it: one node, or several that a supergroup pass reads as
/// one.
struct Operator {
  std::string name;  ///< name of its node; of several: "first+last"
  std::string type;  ///< e.g. "Conv"; a fused MatMul+Add is "Gemm"
  std::vector<int> nodes;
  std::vector<TensorId> inputs;  ///< outside inputs, static parameters included
  std::vector<TensorId> outputs;
  /// Parameters in the order of the operator's table: (tensor, kind such as "weight", "bias").
  std::vector<std::pair<TensorId, std::string>> parameters;
  /// Bias of the Add that the target runs together with this MatMul although the two are no Gemm.
  TensorId added_bias = kAbsent;
};

enum class TensorRole { kParameter, kActivation };

/// One quantizer site: where it sits, how it is set, and which rule decided.
///
/// Axes are counted from 0 (MatMul: rank - 1), as the peer's `channelAxis` shows them once per
/// channel is on.
struct Site {
  TensorId tensor = kAbsent;
  TensorRole role = TensorRole::kActivation;
  std::string parameter_kind;  ///< "weight", "bias", ... for parameters
  bool enabled = false;
  Format format;
  bool symmetric = false;
  bool strict_symmetric = false;
  bool unsigned_symmetric = false;
  bool per_channel = false;
  int channel_axis = -1;  ///< axis that per channel would use; -1: none
  int block_axis = -1;    ///< axis that blockwise would use; -1: none
  std::optional<std::pair<std::optional<double>, std::optional<double>>> fixed_range;
  /// Index of the first site that shares this one's quantizer; -1: none, or this is the first.
  int tied_to = -1;
  /// The rule that had the last word, e.g. "op_type.Cast.is_output_quantized".
  std::string reason;
};

/// A tensor without a quantizer and why, so that nothing is silent.
struct SkippedTensor {
  std::string name;
  TensorId tensor = kAbsent;  ///< kAbsent for tensors inside the body of an If, Loop or Scan
  std::string reason;
};

struct Placement {
  /// Parameters first, then activations: the order of the quantizer dictionary.
  std::vector<Site> sites;
  std::vector<TensorId> input_quantizers;
  std::vector<Operator> operators;  ///< topological order
  std::vector<SkippedTensor> skipped;
  std::string rules_name;
  /// What decided; kept, so that a file that changes later cannot contradict the placement.
  std::shared_ptr<const Rules> rules;
};

struct PlacementOptions {
  std::string rules = "default";  ///< alias or path of a rules file (JSON)
  Format parameter_format;        ///< int8 unless set
  Format activation_format;       ///< int8 unless set
};

/// Decides where quantizers go. The graph must know the element type of every tensor
/// (Graph::set_type).
/// @throws Error(kInvalidArgument) for a bad rules file; Error(kInvalidModel) for a model that
/// already holds quantizers.
Placement place_quantizers(const Graph& graph, const PlacementOptions& options);

/// Applies the rules that hold whatever the rules file says (norms, MatMul of two activations,
/// grouped transposed convolutions) to sites that were changed since they were placed. `sites` has
/// the sites of place_quantizers() for this graph and these rules, with settings and ties of now.
void apply_exception_rules(const Graph& graph, const Rules& rules, std::vector<Site>& sites);

/// Index of the enabled site whose quantizer decides the values of `tensor`: its own, or the
/// closest one upstream that is reached through data movement and casts between floating-point
/// types only; -1 when there is none.
int effective_site(const Graph& graph, const std::vector<Site>& sites, TensorId tensor);

}  // namespace bitsweep::graph
