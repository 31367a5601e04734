#pragma once

#include <memory>
#include <vector>

#include "bitsweep/quantizer.h"
#include "graph/placement.h"

namespace bitsweep::simulate {

/// One quantizer per site, set as the placement says; tied sites share one object.
std::vector<std::shared_ptr<Quantizer>> make_quantizers(const graph::Graph& graph,
                                                        const graph::Placement& placement,
                                                        Scheme scheme);

}  // namespace bitsweep::simulate
