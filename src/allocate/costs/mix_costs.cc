#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "allocate/weight_grids.h"
#include "bitsweep/mix.h"
#include "bitsweep/names.h"
#include "graph/placement.h"
#include "simulate/engine.h"
#include "simulate/network/network.h"

namespace bitsweep {
namespace {

using graph::TensorId;

constexpr double kBitsPerByte = 8.0;
constexpr double kGiga = 1e9;
constexpr int kWideBits = 16;
const Format kFloat32 = Format::parse("float32");

double bits_of(const Format& format) { return static_cast<double>(format.bitwidth); }

std::vector<std::vector<double>> zeros_like(const std::vector<std::vector<Candidate>>& choices) {
  std::vector<std::vector<double>> table;
  for (const auto& list : choices) table.emplace_back(list.size(), 0.0);
  return table;
}

/// Which group holds a tensor's quantizer, and as what.
struct Holder {
  std::size_t group = 0;
  bool is_parameter = false;
};

std::map<std::string, Holder> holders(const std::vector<QuantizerGroup>& groups) {
  std::map<std::string, Holder> result;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const std::string& t : groups[g].activations) result[t] = {g, false};
    for (const std::string& t : groups[g].parameters) result[t] = {g, true};
  }
  return result;
}

/// Type of a held tensor in one choice; a choice without parameter type leaves the present one.
Format format_in(const Simulation& simulation, const std::string& tensor, const Holder& holder,
                 const Candidate& choice) {
  if (!holder.is_parameter) return choice.activation;
  return choice.parameter ? *choice.parameter : simulation.quantizer(tensor)->format();
}

double scale_bits_in(const Simulation& simulation, const std::string& weight, const Format& format,
                     const Candidate& choice) {
  const Quantizer& q = *simulation.quantizer(weight);
  return allocate::scale_bits(
      q, format,
      choice.granularity ? allocate::granularity_of(*choice.granularity, q, q.granularity())
                         : q.granularity());
}

CostTable weight_bytes(const Simulation& simulation, const std::vector<QuantizerGroup>& groups,
                       const std::vector<std::vector<Candidate>>& choices) {
  CostTable table{
      .name = "bytes", .rows = {{.constant = 0.0, .by_choice = zeros_like(choices)}}, .pairs = {}};
  const std::map<std::string, Holder> holder = holders(groups);
  for (const graph::TensorInfo& tensor : simulation.engine().network().graph().tensors()) {
    if (!tensor.is_static || tensor.uses.empty() || !tensor.shape ||
        !is_quantizable_type(tensor.type)) {
      continue;
    }
    const auto elements = static_cast<double>(num_elements(*tensor.shape));
    const auto held = holder.find(tensor.name);
    if (held == holder.end()) {
      table.rows[0].constant += elements * static_cast<double>(data_type_size(tensor.type));
      continue;
    }
    const std::size_t g = held->second.group;
    for (std::size_t c = 0; c < choices[g].size(); ++c) {
      const Format format = format_in(simulation, tensor.name, held->second, choices[g][c]);
      double bits = elements * bits_of(format);
      if (held->second.is_parameter)
        bits += scale_bits_in(simulation, tensor.name, format, choices[g][c]);
      table.rows[0].by_choice[g][c] += bits / kBitsPerByte;
    }
  }
  return table;
}

/// Whether row a can never be the largest, because row b is at least as large in every choice.
bool is_covered(const CostTable::Row& a, const CostTable::Row& b) {
  if (a.constant > b.constant) return false;
  for (std::size_t g = 0; g < a.by_choice.size(); ++g) {
    for (std::size_t c = 0; c < a.by_choice[g].size(); ++c) {
      if (a.by_choice[g][c] > b.by_choice[g][c]) return false;
    }
  }
  return true;
}

CostTable peak_bytes(const Simulation& simulation, const std::vector<QuantizerGroup>& groups,
                     const std::vector<std::vector<Candidate>>& choices) {
  CostTable table{.name = "peak", .rows = {}, .pairs = {}};
  const simulate::Network& network = simulation.engine().network();
  const std::map<std::string, Holder> holder = holders(groups);
  for (int p = 0; p < network.order().size(); ++p) {
    // What the node reads or leaves for later, and what it makes.
    std::set<TensorId> alive;
    for (const TensorId t : network.order().live(p)) alive.insert(t);
    for (const TensorId t : network.order().live(p + 1)) alive.insert(t);
    CostTable::Row row{.constant = 0.0, .by_choice = zeros_like(choices)};
    for (const TensorId t : alive) {
      const graph::TensorInfo& tensor = network.graph().tensor(t);
      if (!tensor.shape) continue;
      const auto elements = static_cast<double>(num_elements(*tensor.shape));
      const std::string owner = is_quantizable_type(tensor.type)
                                    ? simulation.effective_tensor(tensor.name)
                                    : std::string();
      const auto held = holder.find(owner);
      if (held == holder.end()) {
        row.constant += elements * static_cast<double>(data_type_bits(tensor.type)) / kBitsPerByte;
        continue;
      }
      const std::size_t g = held->second.group;
      for (std::size_t c = 0; c < choices[g].size(); ++c)
        row.by_choice[g][c] += elements *
                               bits_of(format_in(simulation, owner, held->second, choices[g][c])) /
                               kBitsPerByte;
    }
    const bool covered = std::any_of(table.rows.begin(), table.rows.end(),
                                     [&](const CostTable::Row& r) { return is_covered(row, r); });
    if (covered) continue;
    std::erase_if(table.rows, [&](const CostTable::Row& r) { return is_covered(r, row); });
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) table.rows.push_back({.constant = 0.0, .by_choice = zeros_like(choices)});
  return table;
}

CostTable scaled(CostTable table, const std::string& name, double factor) {
  table.name = name;
  for (CostTable::Row& row : table.rows) {
    row.constant *= factor;
    for (auto& group : row.by_choice) {
      for (double& value : group) value *= factor;
    }
  }
  for (CostTable::Pair& pair : table.pairs) {
    for (auto& row : pair.by_choices) {
      for (double& value : row) value *= factor;
    }
  }
  return table;
}

/// The cost when every group takes its dearest choice but float32, which is no type to save bits
/// from: offering it must not change what a share means. Bits raise every product, so the dearest
/// of a group does not depend on the others.
double dearest(const CostTable& table, const std::vector<std::vector<Candidate>>& choices) {
  std::vector<int> x;
  for (const std::vector<Candidate>& list : choices) {
    int best = 0;
    const auto price = [](const Candidate& c) {
      if (c.activation == kFloat32) return 0.0;
      return effective_bits(c.activation) * (c.parameter ? effective_bits(*c.parameter) : 1.0);
    };
    for (int c = 1; c < static_cast<int>(list.size()); ++c) {
      if (price(list[static_cast<std::size_t>(c)]) > price(list[static_cast<std::size_t>(best)]))
        best = c;
    }
    x.push_back(best);
  }
  return cost_of(table, x);
}

}  // namespace

const std::vector<MixCostInfo>& mix_costs() {
  static const std::vector<MixCostInfo> costs{
      {"bops", "bit operations, as share of those of the dearest choices but float32"},
      {"gbops", "bit operations, in units of 10^9"},
      {"bytes", "bytes of all weights with their scales"},
      {"share16", "share of the multiply-accumulates with an operand of 16 bits or more"},
      {"peak", "bytes of activations alive at the same time"},
      {"latency", "milliseconds by the latency table"}};
  return costs;
}

std::size_t mix_cost_index(const std::string& name) {
  const auto& costs = mix_costs();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (costs[i].name == name) return i;
    names.push_back(costs[i].name);
  }
  throw unknown_name("mix", "cost", name, names);
}

std::vector<CostTable> mix_cost_tables(const Simulation& simulation,
                                       const std::vector<QuantizerGroup>& groups,
                                       const std::vector<std::vector<Candidate>>& choices) {
  const BitOperations products(simulation, groups, BitOpsCounting::kEveryProduct);
  const CostTable bops = products.table(choices, [](const Format& a, const Format& b) {
    return effective_bits(a) * effective_bits(b);
  });
  const CostTable wide = products.table(choices, [](const Format& a, const Format& b) {
    return std::max(a.bitwidth, b.bitwidth) >= kWideBits ? 1.0 : 0.0;
  });
  double macs = 0.0;
  for (const auto& [name, count] : products.macs()) macs += static_cast<double>(count);
  const double most = dearest(bops, choices);
  return {scaled(bops, "bops", most > 0.0 ? 1.0 / most : 1.0), scaled(bops, "gbops", 1.0 / kGiga),
          weight_bytes(simulation, groups, choices),
          scaled(wide, "share16", macs > 0.0 ? 1.0 / macs : 1.0),
          peak_bytes(simulation, groups, choices)};
}

std::vector<double> present_costs(const Simulation& simulation) {
  const std::vector<QuantizerGroup> groups = quantizer_groups(simulation);
  std::vector<std::vector<Candidate>> choices;
  for (const QuantizerGroup& group : groups) {
    Candidate& now = choices.emplace_back().emplace_back();
    if (!group.activations.empty())
      now.activation = simulation.quantizer(group.activations.front())->format();
    if (!group.parameters.empty())
      now.parameter = simulation.quantizer(group.parameters.front())->format();
  }
  std::vector<double> costs;
  for (const CostTable& table : mix_cost_tables(simulation, groups, choices))
    costs.push_back(cost_of(table, std::vector<int>(groups.size(), 0)));
  return costs;
}

}  // namespace bitsweep
