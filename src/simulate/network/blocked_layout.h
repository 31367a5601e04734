#pragma once

#include <set>
#include <vector>

#include "graph/graph.h"

namespace bitsweep::simulate {

/// Which inputs of a piece the runtime would hold in its blocked layout of convolutions (NCHWc) if
/// it ran the whole network, while the piece gets them unblocked and has other readers for them
/// than convolutions. See graph::SubgraphSpec::blocked. `nodes`: those of the piece, ascending.
/// Needs observed shapes; without them nothing is blocked.
std::set<graph::TensorId> inputs_to_block(const graph::Graph& graph,
                                          const std::vector<graph::TensorId>& inputs,
                                          const std::vector<int>& nodes);

}  // namespace bitsweep::simulate
