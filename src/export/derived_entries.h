#pragma once

#include <vector>

#include "export/file_entry.h"
#include "graph/graph.h"
#include "graph/placement.h"

namespace bitsweep::exporting {

/// Appends entries for tensors that hold the values of another one: data movement and Concat copy a
/// per-tensor grid forward when all inputs share it, and backward to an input that nobody else
/// reads. Relu and a Pad with zeros copy forward. int32 grids are not copied, nothing is
/// overwritten. Rounding to such a grid changes no value.
void add_derived_entries(const graph::Graph& graph, const graph::Placement& placement,
                         std::vector<FileEntry>& entries);

}  // namespace bitsweep::exporting
