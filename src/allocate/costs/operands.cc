#include "allocate/costs/operands.h"

#include <algorithm>

#include "graph/placement/op_types.h"

namespace bitsweep::allocate {

Operands::Operands(const graph::Graph& graph, const std::vector<QuantizerGroup>& groups)
    : graph_(graph) {
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const std::string& t : groups[g].activations) holder_[t] = {static_cast<int>(g), false};
    for (const std::string& t : groups[g].parameters) holder_[t] = {static_cast<int>(g), true};
  }
}

CostOperand Operands::of(graph::TensorId tensor) const {
  while (tensor != graph::kAbsent) {
    const graph::TensorInfo& info = graph_.tensor(tensor);
    if (const auto it = holder_.find(info.name); it != holder_.end()) return it->second;
    if (info.producer < 0 || !graph::passes_values_through(graph_, graph_.node(info.producer)))
      break;
    tensor = graph_.node(info.producer).inputs.front();
  }
  return {};
}

void add_to_table(CostTable& table, const std::vector<std::vector<Candidate>>& choices,
                  const CostOperand& first, const CostOperand& second,
                  const std::function<double(std::size_t, std::size_t)>& value) {
  CostTable::Row& row = table.rows.front();
  if (first.group < 0 && second.group < 0) {
    row.constant += value(0, 0);
    return;
  }
  if (first.group < 0 || second.group < 0 || first.group == second.group) {
    const auto g = static_cast<std::size_t>(std::max(first.group, second.group));
    for (std::size_t c = 0; c < choices[g].size(); ++c)
      row.by_choice[g][c] += value(first.group < 0 ? 0 : c, second.group < 0 ? 0 : c);
    return;
  }
  const bool swapped = first.group > second.group;
  const CostOperand& low = swapped ? second : first;
  const CostOperand& high = swapped ? first : second;
  auto pair = std::find_if(table.pairs.begin(), table.pairs.end(), [&](const auto& known) {
    return known.first == low.group && known.second == high.group;
  });
  const std::size_t rows = choices[static_cast<std::size_t>(low.group)].size();
  const std::size_t columns = choices[static_cast<std::size_t>(high.group)].size();
  if (pair == table.pairs.end()) {
    pair = table.pairs.insert(
        pair, {low.group, high.group,
               std::vector<std::vector<double>>(rows, std::vector<double>(columns, 0.0))});
  }
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j)
      pair->by_choices[i][j] += swapped ? value(j, i) : value(i, j);
  }
}

CostTable empty_table(const std::string& name, const std::vector<std::vector<Candidate>>& choices) {
  CostTable table{.name = name, .rows = {{}}, .pairs = {}};
  for (const auto& list : choices) table.rows[0].by_choice.emplace_back(list.size(), 0.0);
  return table;
}

}  // namespace bitsweep::allocate
