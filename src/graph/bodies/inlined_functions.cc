#include "graph/bodies/inlined_functions.h"

#include "graph/graph_data.h"

namespace bitsweep::graph {

const std::vector<std::string>& inlined_functions(const Graph& graph) {
  return graph.data().inlined_functions;
}

}  // namespace bitsweep::graph
