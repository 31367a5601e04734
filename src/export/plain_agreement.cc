#include "export/plain_agreement.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>

#include "export/bias_entries.h"
#include "export/qdq_sites.h"
#include "graph/pieces/subgraph.h"
#include "quant/grid_layout.h"
#include "simulate/engine.h"
#include "simulate/network/network.h"
#include "simulate/network/plain_run.h"
#include "simulate/runtime/session.h"

namespace bitsweep::exporting {
namespace {

using graph::TensorId;
using Values = std::map<TensorId, Tensor>;

constexpr double kStepsOfARange = 255.0;  // of a tensor that has no grid of its own
// A stored constant is equal but for the rounding of float32.
constexpr double kConstantSteps = 0.5;
constexpr double kFloatRounding = 1e-6;

bool is_stored_in_32_bits(const graph::Graph& exported, const graph::Node& node) {
  return node.op_type == "DequantizeLinear" &&
         exported.static_value(node.inputs[0]).type() == DataType::kInt32;
}

GridLayout layout_of(const FileEntry& entry, const Shape& shape) {
  return GridLayout({.channel_axis = entry.kind == EntryKind::kPerTensor ? -1 : entry.channel_axis,
                     .block_axis = -1,
                     .block_size = 0},
                    shape);
}

Tensor stored_value(const FileEntry& entry, const Tensor& value) {
  const Tensor codes = codes_of(entry, value);
  const auto* whole = static_cast<const std::int32_t*>(codes.data());
  Tensor result = Tensor::allocate(DataType::kFloat, value.shape());
  auto* out = static_cast<float*>(result.mutable_data());
  layout_of(entry, value.shape())
      .for_each_run(0, value.size(), [&](std::int64_t cell, std::int64_t first, std::int64_t n) {
        const auto scale = static_cast<float>(entry.cells[static_cast<std::size_t>(cell)].delta);
        for (std::int64_t i = first; i < first + n; ++i)
          out[i] = static_cast<float>(whole[i]) * scale;
      });
  return result;
}

// Width of a step at each element: that of its cell.
std::vector<double> step_widths(const Encoding& encoding, const Shape& shape) {
  std::vector<double> widths(static_cast<std::size_t>(num_elements(shape)));
  GridLayout(encoding.granularity, shape)
      .for_each_run(0, num_elements(shape),
                    [&](std::int64_t cell, std::int64_t first, std::int64_t n) {
                      std::fill_n(widths.begin() + first, n,
                                  encoding.cells[static_cast<std::size_t>(cell)].delta);
                    });
  return widths;
}

double distance(float a, float b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0.0;
  const double d = std::abs(static_cast<double>(a) - static_cast<double>(b));
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

class Bisection {
 public:
  Bisection(const Simulation& simulation, const graph::Graph& exported, const StoredBiases& biases,
            const Feed& sample, double max_steps)
      : simulation_(simulation),
        network_(simulation.engine().network()),
        graph_(network_.graph()),
        exported_(exported),
        biases_(biases),
        sample_(sample),
        max_steps_(max_steps) {
    find_pairs();
  }

  std::optional<Disagreement> run() {
    int agrees = -1;  // the model inputs in front of their quantizers
    int differs = network_.order().size();
    std::optional<Disagreement> found = at_cut(differs);
    if (!found) return {};
    while (differs - agrees > 1) {
      const int middle = agrees + (differs - agrees) / 2;
      if (auto here = at_cut(middle)) {
        differs = middle;
        found = std::move(here);
      } else {
        agrees = middle;
      }
    }
    if (differs > 0) {
      if (auto constant =
              constant_of(network_.order().nodes()[static_cast<std::size_t>(differs) - 1]))
        return constant;
    }
    return found;
  }

 private:
  bool is_known(TensorId exported) const {
    return graph_.find(exported_.tensor(exported).name) != graph::kAbsent;
  }

  // A pair whose output the simulation does not know stands behind a tensor that it knows, perhaps
  // with a Clip and casts around it: the last of them counts.
  void find_pairs() {
    static const std::set<std::string> kParts = {"Cast", "Clip", "DequantizeLinear",
                                                 "QuantizeLinear"};
    for (const graph::Node& node : exported_.nodes()) {
      if (node.is_dead || (node.op_type != "DequantizeLinear" && node.op_type != "Cast")) continue;
      TensorId source = node.outputs[0];
      for (int part = exported_.tensor(source).producer;
           !is_known(source) && part >= 0 && kParts.count(exported_.node(part).op_type) > 0;
           part = exported_.tensor(source).producer)
        source = exported_.node(part).inputs[0];
      if (source == node.outputs[0] || !is_known(source)) continue;
      behind_pair_.insert_or_assign(exported_.tensor(source).name, node.outputs[0]);
    }
  }

  TensorId exported_id(TensorId t) const {
    const std::string& name = graph_.tensor(t).name;
    const auto pair = behind_pair_.find(name);
    return pair != behind_pair_.end() ? pair->second : exported_.find(name);
  }

  const Encoding* encoding_of(const std::string& tensor) const {
    const std::string owner = simulation_.effective_tensor(tensor);
    if (owner.empty()) return nullptr;
    const auto& encoding = simulation_.quantizer(owner)->encoding();
    return encoding && encoding->format.is_integer() ? &*encoding : nullptr;
  }

  // The worst of the tensors that live at a position, when it differs by too much.
  std::optional<Disagreement> at_cut(int position) const {
    std::vector<TensorId> wanted;
    std::vector<TensorId> counterparts;
    for (const TensorId t : network_.order().live(position)) {
      const TensorId other = exported_id(t);
      if (!is_quantizable_type(graph_.tensor(t).type) || other == graph::kAbsent ||
          std::find(counterparts.begin(), counterparts.end(), other) != counterparts.end())
        continue;
      wanted.push_back(t);
      counterparts.push_back(other);
    }
    if (wanted.empty()) return {};
    const std::vector<Tensor> mine =
        simulate::PlainRun(network_, {.constants = biases_.by_tensor,
                                      .constant_inputs = biases_.by_input,
                                      .opset = exported_.model().opset(),
                                      .outputs = wanted})
            .run(sample_);
    const std::vector<Tensor> theirs = exported_values(counterparts);
    std::optional<Disagreement> worst;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Disagreement here = compare(wanted[i], mine[i], theirs[i]);
      if (here.max_steps > max_steps_ && (!worst || here.max_steps > worst->max_steps))
        worst = here;
    }
    return worst;
  }

  std::vector<Tensor> exported_values(const std::vector<TensorId>& wanted) const {
    graph::SubgraphSpec spec;
    for (int n = 0; n < static_cast<int>(exported_.nodes().size()); ++n) {
      if (exported_.node(n).op_type != "Constant") spec.nodes.push_back(n);
    }
    spec.inputs = exported_.inputs();
    spec.outputs = wanted;
    std::vector<Tensor> inputs;
    for (const TensorId t : spec.inputs) inputs.push_back(sample_.at(exported_.tensor(t).name));
    const simulate::Session session(
        graph::build_subgraph(exported_, spec),
        {.num_threads = 1,
         .optimization = simulate::Optimization::kNone,
         .ort_library = simulation_.options().ort_library,
         .custom_op_libraries = simulation_.options().custom_op_libraries});
    return session.run(inputs);
  }

  Disagreement compare(TensorId t, const Tensor& wanted, const Tensor& got) const {
    Disagreement found{.tensor = graph_.tensor(t).name};
    const Tensor wide_wanted = wanted.to_float();
    const Tensor wide_got = got.to_float();
    if (wide_wanted.shape() != wide_got.shape()) {
      found.max_difference = found.max_steps = std::numeric_limits<double>::infinity();
      found.share = 1.0;
      return found;
    }
    const std::span<const float> a = wide_wanted.floats();
    const std::span<const float> b = wide_got.floats();
    const Encoding* encoding = encoding_of(found.tensor);
    std::vector<double> widths;
    if (encoding != nullptr) {
      widths = step_widths(*encoding, wanted.shape());
    } else if (!a.empty()) {
      const auto [low, high] = std::minmax_element(a.begin(), a.end());
      widths.assign(a.size(), (std::max(0.0, static_cast<double>(*high)) -
                               std::min(0.0, static_cast<double>(*low))) /
                                  kStepsOfARange);
    }
    std::int64_t num_different = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double d = distance(a[i], b[i]);
      if (d == 0.0) continue;
      found.max_difference = std::max(found.max_difference, d);
      found.max_steps =
          std::max(found.max_steps,
                   widths[i] > 0.0 ? d / widths[i] : std::numeric_limits<double>::infinity());
      if (d > kFloatRounding * std::abs(static_cast<double>(a[i]))) ++num_different;
    }
    if (!a.empty())
      found.share = static_cast<double>(num_different) / static_cast<double>(a.size());
    return found;
  }

  // Statics that a node reads, directly or through constant nodes.
  void add_statics(int node, std::set<TensorId>& statics) const {
    for (const TensorId t : graph_.node(node).inputs) {
      if (t == graph::kAbsent) continue;
      const graph::TensorInfo& info = graph_.tensor(t);
      if (info.is_static) {
        if (is_quantizable_type(info.type)) statics.insert(t);
      } else if (info.producer >= 0 && graph_.node(info.producer).is_constant) {
        add_statics(info.producer, statics);
      }
    }
  }

  std::optional<Disagreement> constant_of(int node) const {
    std::set<TensorId> statics;
    add_statics(node, statics);
    for (const TensorId t : statics) {
      const TensorId other = exported_id(t);
      if (other == graph::kAbsent) continue;
      const Tensor raw = graph_.static_value(t);
      const auto constant = biases_.by_tensor.find(t);
      const std::string& name = graph_.tensor(t).name;
      Tensor wanted = constant != biases_.by_tensor.end() ? constant->second : raw;
      if (encoding_of(name) != nullptr && constant == biases_.by_tensor.end())
        wanted = simulation_.quantizer(simulation_.effective_tensor(name))->fake_quant(raw);
      const Tensor stored = exported_.static_value(other);
      Disagreement here =
          compare(t, wanted, stored.defined() ? stored : exported_values({other}).front());
      if (here.max_steps > kConstantSteps && here.share > 0.0) return here;
    }
    return {};
  }

  const Simulation& simulation_;
  const simulate::Network& network_;
  const graph::Graph& graph_;
  const graph::Graph& exported_;
  const StoredBiases& biases_;
  const Feed& sample_;
  double max_steps_;
  std::map<std::string, TensorId> behind_pair_;
};

}  // namespace

StoredBiases stored_biases(const Simulation& simulation, const graph::Graph& exported) {
  const graph::Graph& graph = simulation.engine().network().graph();
  const BiasEntries entries = bias_entries(simulation, false);
  const auto stored = [&](const std::string& name) {
    const TensorId t = exported.find(name);
    const int producer = t == graph::kAbsent ? -1 : exported.tensor(t).producer;
    return producer >= 0 && is_stored_in_32_bits(exported, exported.node(producer));
  };
  StoredBiases result;
  for (const auto& [name, entry] : entries.common) {
    const TensorId t = graph.find(name);
    const Tensor value = graph.static_value(t);
    if (stored(name) && value.type() == DataType::kFloat)
      result.by_tensor.emplace(t, stored_value(entry, value));
  }
  for (const FileEntry& entry : entries.by_reader) {
    const TensorId t = graph.find(entry.name);
    const Tensor value = graph.static_value(t);
    if (value.type() != DataType::kFloat) continue;
    for (const graph::Use& use : graph.tensor(t).uses) {
      if (std::find(entry.readers.begin(), entry.readers.end(), use.node) == entry.readers.end())
        continue;
      const int node = exported.find_node(graph.node(use.node).name);
      if (node < 0 ||
          !stored(exported.tensor(exported.node(node).inputs[static_cast<std::size_t>(use.input)])
                      .name))
        continue;
      result.by_input.emplace(std::pair(use.node, use.input), stored_value(entry, value));
    }
  }
  return result;
}

std::optional<Disagreement> first_disagreement(const Simulation& simulation,
                                               const graph::Graph& exported,
                                               const StoredBiases& biases, const Feed& sample,
                                               double max_steps) {
  return Bisection(simulation, exported, biases, sample, max_steps).run();
}

}  // namespace bitsweep::exporting
