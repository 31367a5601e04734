#pragma once

#include <string>
#include <vector>

#include "graph/placement/draft.h"

namespace bitsweep::graph {

/// Operators in a row that the target runs as one.
struct SupergroupMatch {
  std::vector<int> operators;  ///< indices, first to last
  const std::vector<std::string>* pattern = nullptr;
};

/// Matches of the rules' supergroups, disjoint; longer patterns first, then as listed, then in
/// graph order.
/// @param barred by operator: may not be the first of a match.
std::vector<SupergroupMatch> find_supergroups(const Draft& draft, const std::vector<bool>& barred);

}  // namespace bitsweep::graph
