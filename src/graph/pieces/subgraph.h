#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace bitsweep::graph {

/// A quantizer node to put behind a tensor: every reader inside the piece, and the graph output of
/// that name, sees the quantized value.
struct QuantizerInsertion {
  TensorId tensor = kAbsent;
  int quantizer = -1;     ///< written to the node as attribute "index" (int)
  bool in_place = false;  ///< op type FakeQuantInPlace instead of FakeQuant: caller proved that one
                          ///< may overwrite the input
  /// Type of a half tensor that is cast to float32 in front of the quantizer and back behind it, as
  /// in an exported model; kUndefined: the quantizer takes it as it is.
  DataType cast_back = DataType::kUndefined;
};

/// A piece of a graph to be run on its own.
struct SubgraphSpec {
  std::vector<int> nodes{};        ///< non-constant nodes, ascending
  std::vector<TensorId> inputs{};  ///< graph inputs of the piece, in this order; may be static
                                   ///< tensors (weights to be bound)
  std::vector<TensorId>
      outputs{};  ///< graph outputs of the piece, in this order; may also be inputs of the piece
  /// Tensors made in the piece whose shapes are further outputs, behind those: int64 [rank].
  std::vector<TensorId> shapes_of{};
  std::vector<QuantizerInsertion> quantizers{};
  std::map<TensorId, Tensor>
      replaced{};  ///< static tensors with another value (baked fake-quantized weights)
  /// The same for one (node, input) only, where readers of a tensor get different values.
  std::map<std::pair<int, int>, Tensor> replaced_inputs{};
  /// Operator set to raise the piece to, where an exported model was raised; 0: that of the model.
  std::int64_t opset = 0;
  bool state_input =
      false;  ///< adds the last input Piece::state_input, int64 [1], wired to all quantizer nodes
  /// Declares the shapes that Graph knows (observed with one batch size) on the inputs: the runtime
  /// then works in place where it may. Otherwise graph inputs keep their declared shape and other
  /// tensors have what is inferred.
  bool static_shapes = false;
  /// Inputs [N, C, H, W], C a multiple of 8, that the runtime would hold in a blocked layout if it
  /// ran the whole network: they pass through a node that changes no value but that it blocks.
  /// Without it, an Add of such an input would not be fused into the convolution beside it, and the
  /// piece would be slower and differ in the last bits.
  std::set<TensorId> blocked{};
  /// Quantizers and the arithmetic between them become single nodes: see fuse_elementwise(). Not
  /// for pieces whose quantizers observe.
  bool fuse_elementwise = false;
};

inline constexpr const char* kQuantizerDomain = "com.bitsweep";
/// Attribute of quantizer nodes whose tensor is known to be a scalar.
inline constexpr const char* kScalarAttribute = "scalar";

/// File name that a piece gives as the place of the weights in Piece::initializers. The runtime
/// asks that it exists: set its folder for external initializers to /dev, which always has an empty
/// file of this name. Weights given by AddInitializer work only where no graph optimization wants
/// to read them (is_shareable): those that do (folding of batch norms, blocked convolutions) read
/// the file instead. AddExternalInitializers works with all, and copies.
inline constexpr const char* kWeightsLocation = "null";

/// An initializer whose bytes are passed to the runtime by pointer instead of being serialized.
struct ExternalInitializer {
  std::string name;
  Tensor value;
  bool shareable = false;  ///< see is_shareable()
};

struct Piece {
  std::string bytes;                              ///< serialized ModelProto without large weights
  std::vector<ExternalInitializer> initializers;  ///< to be given to the session under these names
  std::vector<std::string>
      input_names;  ///< names in the piece, in the order of SubgraphSpec::inputs
  std::vector<std::string>
      output_names;         ///< names in the piece: SubgraphSpec::outputs, then shapes_of
  std::string state_input;  ///< name of the input that SubgraphSpec::state_input adds
};

/// Builds a piece: the nodes, the constant nodes they need, and the statics they read. Weights of
/// at least `external_threshold_bytes` are listed in Piece::initializers; the others are inlined.
///
/// Tensors keep their names: a quantized tensor t that the piece produces or holds is called t
/// behind its quantizer, and the raw value gets a hidden name; a quantized input is t in front of
/// its quantizer. An output that is itself an input of the piece passes through an Identity (or its
/// quantizer) and has another name than the input: see output_names.
///
/// Identity nodes without a quantizer are left out: their readers, and an output of the piece, get
/// the tensor that they hand on.
///
/// Quantizer nodes: domain kQuantizerDomain, op type FakeQuant or FakeQuantInPlace, attribute
/// "index", inputs [t, state] with state_input, else [t]. An input that the piece also produces is
/// taken from outside.
/// @throws Error(kInvalidArgument) when the piece reads a tensor that is neither its input nor made
/// in it, or when the type of an input is unknown.
Piece build_subgraph(const Graph& graph, const SubgraphSpec& spec,
                     std::size_t external_threshold_bytes = 1024);

}  // namespace bitsweep::graph
