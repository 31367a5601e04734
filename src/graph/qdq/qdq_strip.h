#pragma once

#include <string>
#include <vector>

#include "bitsweep/model.h"
#include "bitsweep/tensor.h"
#include "graph/graph.h"

namespace bitsweep::graph {

/// What a QuantizeLinear and DequantizeLinear pair, or a DequantizeLinear behind stored codes, says
/// about a tensor.
struct QdqReading {
  std::string tensor;  ///< in the model without the pairs
  Tensor scale;        ///< float; as QdqSite::scale; undefined for a pair of Casts
  DataType code_type = DataType::kUint8;
  std::vector<std::int64_t> zero_points;  ///< as many as scales; empty: all 0
  int axis = -1;                          ///< -1 when there is a single scale
  int block_size = 0;
  bool is_static = false;  ///< behind a constant
};

struct StrippedModel {
  Model model;
  std::vector<QdqReading> readings;
};

/// The float model inside a QDQ model. A tensor behind a pair keeps the name that it had in front
/// of it; where our own export added "_float" to that, and for graph outputs, the name behind.
/// Stored codes become floats. A Cast to half and back counts as a pair where our own export named
/// it so; other casts belong to the model. A tensor that is read in front of its pair, too, or
/// through two pairs that differ, stays apart from what is quantized by an Identity.
/// @throws Error(kInvalidModel) naming the node: codes that anything else than a DequantizeLinear
/// reads, scales that are no constants, pairs that differ, pairs inside bodies.
StrippedModel strip_qdq(const Graph& graph);

}  // namespace bitsweep::graph
