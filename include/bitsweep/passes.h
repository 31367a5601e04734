#pragma once

#include <string>
#include <vector>

#include "bitsweep/export.h"
#include "bitsweep/model.h"

namespace BITSWEEP_EXPORT bitsweep {

/// Rewrites that prepare a float model for quantization. Each takes a model and returns a new one
/// with a record of what was done; the model given is never touched. Only the main graph is
/// rewritten, not the bodies of If, Loop and Scan.

/// A batch norm that became part of the weight and bias of a layer.
struct FoldedBatchNorm {
  std::string layer;         ///< node; MatMul becomes Gemm under the same name
  std::string layer_output;  ///< its first output in the new model
  std::string batch_norm;    ///< node that is gone
  bool forward = false;      ///< the batch norm stood in front of the layer
  std::vector<float>
      gamma;  ///< per channel: standard deviation behind the batch norm, as it was trained
  std::vector<float> beta;  ///< per channel: mean behind the batch norm
};

/// A batch norm that stayed, and why.
struct KeptBatchNorm {
  std::string batch_norm;
  std::string reason;
};

struct FoldBatchNormsResult {
  Model model;
  std::vector<FoldedBatchNorm> folded;
  std::vector<KeptBatchNorm> kept;
};

/// Folds batch norms into Conv, ConvTranspose, Gemm and MatMul: those behind a layer first, then
/// those in front of one (Flatten or Reshape may lie between) where padding does not make that
/// inexact.
///
/// Batch norms that stay get their statistics folded into gamma and beta: mean 0, variance 1,
/// epsilon 0. Sums are in double; values keep their element type. One batch norm per layer and
/// side: call again for more.
FoldBatchNormsResult fold_batch_norms(const Model& model);

struct EqualizeOptions {
  /// Also scale layers that leave the attribute `group` out. Its default is 1, yet the reference
  /// skips such layers.
  bool implied_group = false;
  /// Replace Clip(0, x) between two layers by Relu, so that they can be equalized. This changes the
  /// function of the model: only for models that tolerate it.
  bool replace_relu6 = false;
  /// Move the part of a bias that a folded batch norm keeps above zero into the next layer. Nearly
  /// exact: true for values within three standard deviations. Left out where padding would make
  /// borders wrong.
  bool absorb_high_biases = true;
};

/// Two neighbouring layers whose channels were scaled against each other.
struct EqualizedPair {
  std::string first;
  std::string second;
  bool activation_between = false;  ///< Relu or PRelu
  std::vector<float> scale;         ///< per channel; the first layer was divided by it
  std::vector<float>
      absorbed;  ///< per channel: bias moved to the second layer; empty when none was
};

struct EqualizeResult {
  Model model;
  std::vector<FoldedBatchNorm> folded;
  std::vector<std::vector<EqualizedPair>> sets;  ///< one pair, or two that share a depthwise layer
  std::vector<std::string> replaced_clips;       ///< nodes that became Relu
};

/// Cross-layer equalization: folds batch norms, then scales the channels of neighbouring
/// convolutions so that each layer uses the same range per channel. The outputs stay what they
/// were, except for rounding and as the options say. Source: Nagel et al. 2019, Data-Free
/// Quantization Through Weight Equalization and Bias Correction.
EqualizeResult equalize_cross_layers(const Model& model, const EqualizeOptions& options = {});

/// A copy of an initializer for one of its readers.
struct DuplicatedInitializer {
  std::string initializer;
  std::string copy;
  std::string node;  ///< the reader
};

struct DuplicateInitializersResult {
  Model model;
  std::vector<DuplicatedInitializer> copies;
};

/// Gives each reader of a shared float initializer its own copy, so that each can have its own
/// encoding or be folded. The first reader keeps the original; bodies of If, Loop and Scan share
/// it.
DuplicateInitializersResult duplicate_shared_initializers(const Model& model);

}  // namespace BITSWEEP_EXPORT bitsweep
