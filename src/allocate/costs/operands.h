#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bitsweep/allocation.h"
#include "graph/graph.h"

namespace bitsweep::allocate {

/// Finds the group whose type an operand arrives in.
class Operands {
 public:
  Operands(const graph::Graph& graph, const std::vector<QuantizerGroup>& groups);

  /// The group of the tensor, or of what it is moved from by Reshape, Transpose and the like.
  CostOperand of(graph::TensorId tensor) const;

 private:
  const graph::Graph& graph_;
  std::map<std::string, CostOperand> holder_;
};

/// Adds what an operator of two operands costs: value(choice of the first one's group, choice of
/// the second one's). A group of -1 has the choice 0 only.
void add_to_table(CostTable& table, const std::vector<std::vector<Candidate>>& choices,
                  const CostOperand& first, const CostOperand& second,
                  const std::function<double(std::size_t, std::size_t)>& value);

/// One row of zeros.
CostTable empty_table(const std::string& name, const std::vector<std::vector<Candidate>>& choices);

}  // namespace bitsweep::allocate
