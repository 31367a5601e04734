#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>

#include "bitsweep/allocation.h"

namespace bitsweep {
namespace {

// Their output holds the values of their first input, so an operator behind them is fed by what
// feeds them. Source: spec of the reference, mixed precision section 3.
bool is_passed_through(std::string_view type) {
  static constexpr std::array kTypes = {"Reshape", "Gather", "Unsqueeze", "Pad", "Transpose"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

/// Sets of tensors that grow together.
class Joined {
 public:
  explicit Joined(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace

const std::string& group_name(const QuantizerGroup& group) {
  return group.activations.empty() ? group.parameters.front() : group.activations.front();
}

std::vector<QuantizerGroup> quantizer_groups(const Simulation& simulation) {
  std::vector<std::string> names;
  std::map<std::string, std::size_t> index;
  for (const std::string& name : simulation.tensor_names()) {
    if (!simulation.quantizer(name)->enabled()) continue;
    index.emplace(name, names.size());
    names.push_back(name);
  }
  const std::vector<std::string>& all_parameters = simulation.parameter_names();
  const std::set<std::string> parameters(all_parameters.begin(), all_parameters.end());

  const std::vector<OperatorInfo> operators = simulation.operators();
  std::map<std::string, const OperatorInfo*> producer;
  for (const OperatorInfo& op : operators) {
    for (const std::string& output : op.outputs) producer.emplace(output, &op);
  }
  const auto origin = [&](std::string tensor) {
    for (auto it = producer.find(tensor);
         it != producer.end() && is_passed_through(it->second->type) && !it->second->inputs.empty();
         it = producer.find(tensor)) {
      tensor = it->second->inputs.front();
    }
    return tensor;
  };

  Joined joined(names.size());
  for (const OperatorInfo& op : operators) {
    if (is_passed_through(op.type)) continue;
    std::vector<std::size_t> members;
    bool has_parameter = false;
    const auto add = [&](const std::string& tensor) {
      const auto it = index.find(tensor);
      if (it == index.end()) return;
      members.push_back(it->second);
      has_parameter = has_parameter || parameters.contains(tensor);
    };
    for (const std::string& input : op.inputs) add(origin(input));
    for (const auto& [tensor, kind] : op.parameters) add(tensor);
    if (!has_parameter) continue;
    for (const std::size_t m : members) joined.join(m, members.front());
  }

  std::map<std::size_t, QuantizerGroup> by_root;
  for (std::size_t i = 0; i < names.size(); ++i) {
    QuantizerGroup& group = by_root[joined.find(i)];
    (parameters.contains(names[i]) ? group.parameters : group.activations).push_back(names[i]);
  }
  std::vector<QuantizerGroup> groups;
  for (auto& [root, group] : by_root) {
    std::sort(group.activations.begin(), group.activations.end());
    std::sort(group.parameters.begin(), group.parameters.end());
    groups.push_back(std::move(group));
  }
  std::sort(groups.begin(), groups.end(), [](const QuantizerGroup& a, const QuantizerGroup& b) {
    return std::tie(a.activations, a.parameters) < std::tie(b.activations, b.parameters);
  });
  return groups;
}

}  // namespace bitsweep
