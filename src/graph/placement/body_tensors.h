#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace bitsweep::graph {

struct BodyTensor {
  std::string name;
  DataType type = DataType::kUndefined;  ///< kUndefined: neither declared nor plain to see
};

/// Every tensor that the bodies (If, Loop, Scan) of node `node` define, nested ones included:
/// formal inputs, weights, and what their nodes make.
std::vector<BodyTensor> body_tensors(const Graph& graph, int node);

}  // namespace bitsweep::graph
