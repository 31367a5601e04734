#pragma once

#include <functional>
#include <string>

#include "graph/graph.h"
#include "onnx-ml.pb.h"

namespace bitsweep::graph {

/// Makes one node of quantizers and the arithmetic between them, where all of it is a function of
/// one tensor, element by element, and only the last result is read elsewhere: a hard swish in
/// single operators with a quantizer behind each becomes one pass over memory instead of nine. The
/// results keep their bits.
///
/// Only what lies between quantizers is taken, which the runtime could not fuse anyway. The new
/// nodes have the domain kQuantizerDomain, the op type Elementwise or ElementwiseInPlace, the
/// inputs [tensor, state], and an ElementwiseProgram in the attributes `steps` and `constants`.
///
/// `find`: the tensor of a name in the piece, null when it is not known. `opset`: that of the
/// piece.
void fuse_elementwise(onnx::GraphProto* graph, std::int64_t opset,
                      const std::function<const TensorInfo*(const std::string&)>& find);

}  // namespace bitsweep::graph
