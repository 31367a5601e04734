#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace bitsweep::graph {

/// The model's own functions whose nodes stand in place of their calls, as "domain::name".
const std::vector<std::string>& inlined_functions(const Graph& graph);

}  // namespace bitsweep::graph
