#include <map>

#include "bitsweep/sweep.h"

namespace bitsweep {

std::vector<SweepGroup> group_by_quantizer(const Simulation& simulation) {
  std::vector<SweepGroup> groups;
  for (const std::string& name : simulation.tensor_names()) {
    if (simulation.quantizer(name)->enabled()) groups.push_back({name, {name}});
  }
  return groups;
}

std::map<std::string, std::string> operator_of_tensor(const Simulation& simulation) {
  std::map<std::string, std::string> owner;
  const std::vector<OperatorInfo> operators = simulation.operators();
  for (const OperatorInfo& op : operators) {
    for (const auto& [tensor, kind] : op.parameters) owner.emplace(tensor, op.name);
  }
  for (const OperatorInfo& op : operators) {
    for (const std::string& tensor : op.outputs) owner.emplace(tensor, op.name);
  }
  for (const OperatorInfo& op : operators) {
    for (const std::string& tensor : op.inputs) owner.emplace(tensor, op.name);
  }
  std::map<std::string, std::string> result;
  for (const std::string& name : simulation.tensor_names()) {
    if (const auto it = owner.find(name); it != owner.end()) result.emplace(name, it->second);
  }
  return result;
}

std::vector<SweepGroup> group_by_operator(const Simulation& simulation) {
  const std::map<std::string, std::string> owner = operator_of_tensor(simulation);
  std::vector<SweepGroup> groups;
  std::map<std::string, std::size_t> index;
  for (const std::string& name : simulation.tensor_names()) {
    if (!simulation.quantizer(name)->enabled()) continue;
    const auto op = owner.find(name);
    if (op == owner.end()) continue;
    const auto [it, is_new] = index.emplace(op->second, groups.size());
    if (is_new) groups.push_back({op->second, {}});
    groups[it->second].tensors.push_back(name);
  }
  return groups;
}

}  // namespace bitsweep
