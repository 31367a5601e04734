#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <set>

#include "bitsweep/sweep.h"

namespace bitsweep {
namespace {

std::vector<std::string> filtered_names(const Simulation& simulation,
                                        const QuantizerFilter& filter) {
  const std::vector<std::string>& parameters = simulation.parameter_names();
  const std::set<std::string> is_parameter(parameters.begin(), parameters.end());
  std::vector<std::string> names;
  for (const std::string& name : simulation.tensor_names()) {
    if (!simulation.quantizer(name)->enabled()) continue;
    if (!(is_parameter.count(name) > 0 ? filter.parameters : filter.activations)) continue;
    const bool matches =
        filter.patterns.empty() ||
        std::any_of(filter.patterns.begin(), filter.patterns.end(),
                    [&](const std::string& p) { return fnmatch(p.c_str(), name.c_str(), 0) == 0; });
    if (matches) names.push_back(name);
  }
  return names;
}

/// A topological order that stays on a branch to its end; the last branch of a fork comes first.
/// The reverse of the order in which a depth-first walk over the readers finishes.
std::vector<std::size_t> branch_by_branch(const std::vector<OperatorInfo>& operators) {
  std::map<std::string, std::vector<std::size_t>> readers;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const std::set<std::string> inputs(operators[i].inputs.begin(), operators[i].inputs.end());
    for (const std::string& tensor : inputs) readers[tensor].push_back(i);
  }
  std::vector<std::size_t> finished;
  std::vector<bool> seen(operators.size(), false);
  for (std::size_t start = 0; start < operators.size(); ++start) {
    std::vector<std::pair<std::size_t, bool>> stack = {{start, false}};
    while (!stack.empty()) {
      const auto [i, done] = stack.back();
      stack.pop_back();
      if (done) {
        finished.push_back(i);
      } else if (!seen[i]) {
        seen[i] = true;
        stack.emplace_back(i, true);
        std::vector<std::size_t> after;
        for (const std::string& tensor : operators[i].outputs) {
          const auto found = readers.find(tensor);
          if (found != readers.end())
            after.insert(after.end(), found->second.begin(), found->second.end());
        }
        for (auto it = after.rbegin(); it != after.rend(); ++it) stack.emplace_back(*it, false);
      }
    }
  }
  std::reverse(finished.begin(), finished.end());
  return finished;
}

}  // namespace

std::vector<SweepGroup> group_by_quantizer(const Simulation& simulation,
                                           const QuantizerFilter& filter) {
  std::vector<SweepGroup> groups;
  for (const std::string& name : filtered_names(simulation, filter))
    groups.push_back({name, {name}});
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

std::vector<SweepGroup> group_by_operator(const Simulation& simulation,
                                          const QuantizerFilter& filter) {
  const std::map<std::string, std::string> owner = operator_of_tensor(simulation);
  std::vector<SweepGroup> groups;
  std::map<std::string, std::size_t> index;
  for (const std::string& name : filtered_names(simulation, filter)) {
    const auto op = owner.find(name);
    if (op == owner.end()) continue;
    const auto [it, is_new] = index.emplace(op->second, groups.size());
    if (is_new) groups.push_back({op->second, {}});
    groups[it->second].tensors.push_back(name);
  }
  return groups;
}

std::vector<SweepGroup> group_by_layer(const Simulation& simulation) {
  const std::vector<OperatorInfo> operators = simulation.operators();
  const std::vector<std::string> enabled = filtered_names(simulation, {});
  const std::set<std::string> is_enabled(enabled.begin(), enabled.end());
  std::set<std::string> produced;
  for (const OperatorInfo& op : operators) produced.insert(op.outputs.begin(), op.outputs.end());
  std::vector<SweepGroup> groups;
  for (const std::size_t i : branch_by_branch(operators)) {
    const OperatorInfo& op = operators[i];
    SweepGroup group{op.name, {}};
    const auto add = [&](const std::string& tensor) {
      const auto& known = group.tensors;
      if (is_enabled.count(tensor) > 0 &&
          std::find(known.begin(), known.end(), tensor) == known.end())
        group.tensors.push_back(tensor);
    };
    const auto is_parameter = [&](const std::string& tensor) {
      return std::any_of(op.parameters.begin(), op.parameters.end(),
                         [&](const auto& p) { return p.first == tensor; });
    };
    for (const std::string& tensor : op.inputs) {
      if (produced.count(tensor) == 0 && !is_parameter(tensor)) add(tensor);
    }
    for (const std::string& tensor : op.outputs) add(tensor);
    for (const auto& [tensor, kind] : op.parameters) add(tensor);
    if (!group.tensors.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace bitsweep
