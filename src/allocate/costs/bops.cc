#include <algorithm>
#include <cmath>
#include <cstring>

#include "allocate/costs/operands.h"
#include "bitsweep/allocation.h"
#include "graph/macs.h"
#include "simulate/engine.h"
#include "simulate/network/shapes.h"

namespace bitsweep {
namespace {

constexpr double kFloat32Bits = 32.0;
// A float product costs 1.5 times that of integers of its width; each operand carries the root.
const double kFloatFactor = std::sqrt(1.5);

/// Shapes do not depend on values, so zeros will do; open dimensions get the size 1.
Feed zeros(const Model& model) {
  Feed feed;
  for (const ValueInfo& input : model.inputs()) {
    Shape shape;
    for (const Dimension& d : input.shape) shape.push_back(d.size >= 0 ? d.size : 1);
    Tensor value = Tensor::allocate(input.type, shape);
    std::memset(value.mutable_data(), 0, value.size_bytes());
    feed.emplace(input.name, std::move(value));
  }
  return feed;
}

/// Weight elements times the last two dimensions of the output; 0 for other operators.
std::int64_t reference_macs(const graph::Graph& graph, const graph::Operator& op) {
  if ((op.type != "Conv" && op.type != "Gemm") || op.inputs.size() < 2 || op.outputs.empty())
    return 0;
  const auto& weight = graph.tensor(op.inputs[1]).shape;
  const auto& output = graph.tensor(op.outputs[0]).shape;
  if (!weight || !output) return 0;
  const std::size_t rank = output->size();
  if (rank < 3) return num_elements(*weight);
  return num_elements(*weight) * (*output)[rank - 1] * (*output)[rank - 2];
}

graph::TensorId weight_of(const graph::Operator& op) {
  for (const auto& [tensor, kind] : op.parameters) {
    if (kind == "weight") return tensor;
  }
  return graph::kAbsent;
}

}  // namespace

double effective_bits(const Format& format) {
  const auto width = static_cast<double>(format.bitwidth);
  return format.is_integer() ? width : width * kFloatFactor;
}

BitOperations::BitOperations(const Simulation& simulation,
                             const std::vector<QuantizerGroup>& groups, BitOpsCounting counting)
    : counting_(counting) {
  const simulate::Network& network = simulation.engine().network();
  simulate::Shapes& shapes = simulation.engine().shapes();
  if (!shapes.find()) shapes.observe(zeros(simulation.model()));
  const graph::Graph& graph = network.graph();

  for (const QuantizerGroup& group : groups) {
    const bool has_parameters = !group.parameters.empty();
    present_.push_back(has_parameters ? simulation.quantizer(group.parameters[0])->format()
                                      : Format{});
  }
  const allocate::Operands operands(graph, groups);
  for (const graph::Operator& op : network.placement().operators) {
    std::int64_t macs = 0;
    Product product;
    if (counting == BitOpsCounting::kReference) {
      macs = reference_macs(graph, op);
      const graph::TensorId weight = weight_of(op);
      product.second.is_parameter = true;
      if (weight != graph::kAbsent && operands.of(weight).is_parameter)
        product.second = operands.of(weight);
      // Only an activation in the group of the weight decides about the operator.
      if (product.second.group >= 0 &&
          !groups[static_cast<std::size_t>(product.second.group)].activations.empty()) {
        product.first = {product.second.group, false};
      }
    } else {
      for (const int node : op.nodes) macs += graph::macs_of(graph, node);
      if (!op.inputs.empty()) product.first = operands.of(op.inputs[0]);
      const graph::TensorId weight = weight_of(op);
      if (weight != graph::kAbsent) {
        product.second = operands.of(weight);
      } else if (op.inputs.size() > 1) {
        product.second = operands.of(op.inputs[1]);
      }
    }
    if (macs == 0) continue;
    product.macs = static_cast<double>(macs);
    products_.push_back(product);
    macs_.emplace_back(op.name, macs);
  }
}

double BitOperations::bits(const CostOperand& operand, const Candidate& of_group,
                           const Candidate& start) const {
  const bool is_reference = counting_ == BitOpsCounting::kReference;
  if (operand.group < 0 && !is_reference) return kFloat32Bits * kFloatFactor;
  const Candidate& candidate = operand.group < 0 ? start : of_group;
  const bool is_parameter = operand.is_parameter;
  if (!is_parameter) return effective_bits(candidate.activation);
  // A kernel without parameters leaves them as they were at the start.
  const std::optional<Format>& type = candidate.parameter ? candidate.parameter : start.parameter;
  return type ? effective_bits(*type) : 1.0;
}

CostTable BitOperations::table(
    const std::vector<std::vector<Candidate>>& choices,
    const std::function<double(const Format&, const Format&)>& value) const {
  CostTable table = allocate::empty_table("bops", choices);
  const auto type = [&](const CostOperand& operand, std::size_t choice) {
    if (operand.group < 0) return Format::parse("float32");
    const auto g = static_cast<std::size_t>(operand.group);
    const Candidate& c = choices[g][choice];
    return operand.is_parameter ? c.parameter.value_or(present_[g]) : c.activation;
  };
  for (const Product& p : products_) {
    allocate::add_to_table(table, choices, p.first, p.second, [&](std::size_t a, std::size_t b) {
      return p.macs * value(type(p.first, a), type(p.second, b));
    });
  }
  return table;
}

double BitOperations::total(const std::vector<Candidate>& by_group, const Candidate& start) const {
  double sum = 0.0;
  for (const Product& p : products_) {
    const auto of = [&](const CostOperand& operand) -> const Candidate& {
      return operand.group < 0 ? start : by_group[static_cast<std::size_t>(operand.group)];
    };
    sum += p.macs * bits(p.first, of(p.first), start) * bits(p.second, of(p.second), start);
  }
  return sum;
}

double BitOperations::reduction(int group, const Candidate& from, const Candidate& to) const {
  double sum = 0.0;
  for (const Product& p : products_) {
    if (p.first.group != group && p.second.group != group) continue;
    const auto of = [&](const CostOperand& operand) -> const Candidate& {
      return operand.group == group ? to : from;
    };
    sum += p.macs * (bits(p.first, from, from) * bits(p.second, from, from) -
                     bits(p.first, of(p.first), from) * bits(p.second, of(p.second), from));
  }
  return sum;
}

}  // namespace bitsweep
