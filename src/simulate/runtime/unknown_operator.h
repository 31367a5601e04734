#pragma once

#include "bitsweep/error.h"
#include "graph/graph.h"

namespace bitsweep::simulate {

/// Throws an error that names the node, when the runtime refused the model because it does not know
/// one of its operators; returns otherwise.
void explain_unknown_operator(const graph::Graph& graph, const Error& refusal);

}  // namespace bitsweep::simulate
