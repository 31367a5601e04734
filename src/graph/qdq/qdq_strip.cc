#include "graph/qdq/qdq_strip.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "bitsweep/error.h"
#include "graph/graph_data.h"
#include "graph/opset/restore_opset.h"
#include "graph/qdq/exact_scale.h"
#include "graph/qdq/qdq_codes.h"

namespace bitsweep::graph {
namespace {

bool is_linear(const Node& node, std::string_view type) {
  return node.op_type == type && (node.domain.empty() || node.domain == "com.microsoft");
}

[[noreturn]] void unmapped(const Node& node, const std::string& why) {
  throw Error(
      ErrorCode::kInvalidModel, "from_onnx_qdq",
      fmt::format("\"{}\" ({}) does not map to a quantizer: {}", node.name, node.op_type, why),
      "give a model in which every QuantizeLinear is followed by a DequantizeLinear");
}

class Stripper {
 public:
  explicit Stripper(const Graph& graph)
      : graph_(graph),
        data_(graph.data()),
        names_(graph.data().names),
        removed_(graph.nodes().size(), false) {}

  StrippedModel run() {
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      for_each_body(*data_.nodes[n], [&](const onnx::GraphProto& body) {
        refuse_pairs_in(body, graph_.nodes()[n]);
      });
    }
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      if (is_linear(node, "QuantizeLinear")) check_quantize(node, static_cast<int>(n));
      if (is_linear(node, "DequantizeLinear")) read_dequantize(node, static_cast<int>(n));
      if (is_cast(node)) read_cast(node, static_cast<int>(n));
    }
    for (const auto& [source, groups] : pairs_) name_pairs(source, groups);
    return {build(), std::move(readings_)};
  }

 private:
  /// The pairs behind one tensor that are equal.
  struct Group {
    QdqParameters parameters;
    std::vector<TensorId> outputs;  // of the DequantizeLinear nodes
  };

  const TensorInfo& info(TensorId t) const { return graph_.tensor(t); }

  void refuse_pairs_in(const onnx::GraphProto& body, const Node& owner) const {
    for (const onnx::NodeProto& node : body.node()) {
      if (node.op_type() == "QuantizeLinear" || node.op_type() == "DequantizeLinear")
        unmapped(owner, fmt::format("its body holds the {} \"{}\", and bodies stay in float",
                                    node.op_type(), node.name()));
      for_each_body(node, [&](const onnx::GraphProto& inner) { refuse_pairs_in(inner, owner); });
    }
  }

  Tensor scale_of(const Node& node, TensorId t) {
    Tensor value = graph_.static_value(t);
    if (value.defined()) return value;
    const int producer = info(t).producer;
    if (producer < 0 || !is_linear(graph_.node(producer), "DequantizeLinear"))
      unmapped(node, fmt::format("its scale \"{}\" is no constant", info(t).name));
    const Node& inner = graph_.node(producer);
    const Tensor codes = graph_.static_value(inner.inputs[0]);
    if (!codes.defined())
      unmapped(node, fmt::format("its scale \"{}\" is no constant", info(t).name));
    removed_[static_cast<std::size_t>(producer)] = true;
    const QdqParameters parameters = parameters_of(inner);
    const Tensor wide = parameters.scale.to_float();
    return values_of(inner, parameters, codes,
                     exact_scale(data_.model->proto, info(t).name,
                                 {wide.floats().begin(), wide.floats().end()}));
  }

  QdqParameters parameters_of(const Node& node) {
    QdqParameters result;
    result.scale = scale_of(node, node.inputs[1]);
    if (node.inputs.size() > 2 && node.inputs[2] != kAbsent) {
      const Tensor zero = graph_.static_value(node.inputs[2]);
      if (!zero.defined())
        unmapped(node,
                 fmt::format("its zero point \"{}\" is no constant", info(node.inputs[2]).name));
      result.code_type = zero.type();
      result.zero_point = zero;
    } else if (node.op_type == "DequantizeLinear") {
      const Tensor codes = graph_.static_value(node.inputs[0]);
      if (codes.defined()) {
        result.code_type = codes.type();
      } else if (const int producer = info(node.inputs[0]).producer; producer >= 0) {
        result.code_type = parameters_of(graph_.node(producer)).code_type;
      }
    } else if (const auto type = node.attributes.find("output_dtype");
               type != node.attributes.end() && type->second.i != 0) {
      result.code_type = static_cast<DataType>(type->second.i);
    }
    result.axis = static_cast<int>(node.int_attribute("axis", 1));
    result.block_size = static_cast<int>(node.int_attribute("block_size", 0));
    return result;
  }

  void check_quantize(const Node& node, int index) {
    const TensorId codes = node.outputs[0];
    if (info(codes).is_output) unmapped(node, "its codes are an output of the model");
    for (const Use& use : info(codes).uses) {
      if (use.input != 0 || !is_linear(graph_.node(use.node), "DequantizeLinear"))
        unmapped(node, fmt::format("\"{}\" ({}) reads its codes", graph_.node(use.node).name,
                                   graph_.node(use.node).op_type));
    }
    removed_[static_cast<std::size_t>(index)] = true;
  }

  bool makes_scales(const Node& node) const {
    const TensorInfo& out = info(node.outputs[0]);
    return !out.is_output && !out.uses.empty() &&
           std::all_of(out.uses.begin(), out.uses.end(), [&](const Use& use) {
             const Node& reader = graph_.node(use.node);
             return use.input == 1 &&
                    (is_linear(reader, "QuantizeLinear") || is_linear(reader, "DequantizeLinear"));
           });
  }

  bool comes_from_pair(TensorId t) const {
    const int producer = info(t).producer;
    return producer >= 0 && is_linear(graph_.node(producer), "DequantizeLinear");
  }

  void read_dequantize(const Node& node, int index) {
    if (makes_scales(node)) return;  // a part of LPBQ, read with its reader
    removed_[static_cast<std::size_t>(index)] = true;
    const TensorId codes = node.inputs[0];
    const Tensor stored = graph_.static_value(codes);
    QdqParameters parameters = parameters_of(node);
    const int narrowing = cast_to_half(node.outputs[0]);
    if (stored.defined()) {
      const Tensor wide = parameters.scale.to_float();
      Tensor value =
          values_of(node, parameters, stored, {wide.floats().begin(), wide.floats().end()});
      TensorId output = node.outputs[0];
      if (narrowing >= 0) {
        value = narrowed(value, target(graph_.node(narrowing)));
        output = remove(narrowing).outputs[0];
      }
      add_reading(info(output).name, parameters, value.shape(), true);
      values_.emplace(output, std::move(value));
      return;
    }
    const int producer = info(codes).producer;
    if (producer < 0 || !is_linear(graph_.node(producer), "QuantizeLinear"))
      unmapped(node, fmt::format("nothing known quantizes its input \"{}\"", info(codes).name));
    const Node& quantize = graph_.node(producer);
    if (comes_from_pair(quantize.inputs[0]))
      unmapped(quantize, fmt::format("its input \"{}\" is quantized already, and a tensor has one "
                                     "quantizer",
                                     info(quantize.inputs[0]).name));
    if (!(parameters_of(quantize) == parameters))
      unmapped(node,
               fmt::format("its scale, zero point or axis is not that of \"{}\"", quantize.name));
    TensorId source = quantize.inputs[0];
    TensorId output = node.outputs[0];
    if (const int widening = cast_in_front(source);
        widening >= 0 && narrowing >= 0 &&
        is_our_pair(graph_.node(widening).inputs[0], graph_.node(narrowing).outputs[0])) {
      source = remove(widening).inputs[0];
      output = remove(narrowing).outputs[0];
    }
    std::vector<Group>& groups = pairs_[source];
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& g) { return g.parameters == parameters; });
    if (group == groups.end()) group = groups.insert(groups.end(), {std::move(parameters), {}});
    group->outputs.push_back(output);
  }

  static bool is_cast(const Node& node) { return node.op_type == "Cast" && node.domain.empty(); }

  static DataType target(const Node& cast) {
    return static_cast<DataType>(cast.int_attribute("to", 0));
  }

  static bool is_half(DataType type) {
    return type == DataType::kFloat16 || type == DataType::kBfloat16;
  }

  const Node& remove(int node) {
    removed_[static_cast<std::size_t>(node)] = true;
    return graph_.node(node);
  }

  // The cast behind the pair of a half tensor, when nothing else reads what it does; else -1.
  int cast_to_half(TensorId t) const {
    if (info(t).is_output || info(t).uses.size() != 1 || info(t).uses[0].input != 0) return -1;
    const int reader = info(t).uses[0].node;
    const Node& node = graph_.node(reader);
    return is_cast(node) && is_half(target(node)) ? reader : -1;
  }

  // The cast that makes what only one pair reads; else -1.
  int cast_in_front(TensorId t) const {
    const int producer = info(t).producer;
    const bool read_once = !info(t).is_output && info(t).uses.size() == 1;
    return producer >= 0 && read_once && is_cast(graph_.node(producer)) ? producer : -1;
  }

  // Names that insert_qdq() gives to a tensor in front of its pair, or to one behind a graph input.
  bool is_our_pair(TensorId before, TensorId behind) const {
    const std::string& behind_name = info(behind).name;
    return info(before).is_input ? behind_name.starts_with(info(before).name + "_qdq")
                                 : info(before).name.starts_with(behind_name + "_float");
  }

  void read_cast(const Node& node, int index) {
    const TensorInfo& narrow = info(node.outputs[0]);
    const DataType type = target(node);
    if (!is_half(type)) return;
    if (narrow.is_output || narrow.uses.size() != 1 || narrow.uses[0].input != 0) return;
    const int back = narrow.uses[0].node;
    const TensorId before = node.inputs[0];
    const Node& second = graph_.node(back);
    if (!is_cast(second) || !is_our_pair(before, second.outputs[0])) return;
    removed_[static_cast<std::size_t>(index)] = removed_[static_cast<std::size_t>(back)] = true;
    QdqParameters none;
    none.code_type = type;
    pairs_[before].push_back({std::move(none), {second.outputs[0]}});
  }

  static Tensor values_of(const Node& node, const QdqParameters& p, const Tensor& codes,
                          const std::vector<double>& scales) {
    if (const auto why = misfit(p, scales.size(), codes.shape())) unmapped(node, *why);
    return dequantize(p, codes, scales);
  }

  void add_reading(const std::string& tensor, const QdqParameters& p, const Shape& shape,
                   bool is_static) {
    QdqReading reading{
        .tensor = tensor,
        .scale = p.scale,
        .code_type = p.code_type,
        .zero_points = p.scale.defined() ? p.zero_points() : std::vector<std::int64_t>(),
        .axis = -1,
        .block_size = p.block_size,
        .is_static = is_static};
    if (p.scale.defined() && (p.scale.size() > 1 || !p.scale.shape().empty())) {
      // Negative axes count from the end; the rank is that of the tensor, known of constants.
      reading.axis = p.axis;
      if (p.axis < 0 && !shape.empty()) reading.axis += static_cast<int>(shape.size());
    }
    readings_.push_back(std::move(reading));
  }

  // Whether anything but these pairs sees the value in front of them.
  bool is_seen_raw(TensorId source) const {
    const TensorInfo& t = info(source);
    if (t.is_output) return true;
    return std::any_of(t.uses.begin(), t.uses.end(), [&](const Use& use) {
      if (use.input != 0) return true;
      const Node& reader = graph_.node(use.node);
      const bool cast = is_cast(reader) && removed_[static_cast<std::size_t>(use.node)];
      return !cast && !is_linear(reader, "QuantizeLinear");
    });
  }

  void name_pairs(TensorId source, const std::vector<Group>& groups) {
    const bool apart = groups.size() > 1 || is_seen_raw(source);
    const std::string& before = info(source).name;
    const Tensor value = graph_.static_value(source);
    for (const Group& group : groups) {
      const Shape shape = value.defined() ? value.shape() : Shape();
      TensorId chosen = kAbsent;  // an output whose name must stay
      for (const TensorId t : group.outputs) {
        if (info(t).is_output && chosen == kAbsent) chosen = t;
      }
      const bool fixed = info(source).is_input;  // callers feed it by name
      if (chosen == kAbsent &&
          (apart || before.starts_with(info(group.outputs[0]).name + "_float")))
        chosen = group.outputs[0];
      std::string name = chosen == kAbsent ? before : info(chosen).name;
      if (fixed && !apart) {
        for (const TensorId t : group.outputs) {
          if (info(t).is_output) {
            identities_.emplace_back(before, info(t).name);
          } else {
            renames_.emplace(info(t).name, before);
          }
        }
        add_reading(before, group.parameters, shape, false);
        continue;
      }
      if (apart && value.defined()) {
        values_.emplace(chosen, value);
      } else if (apart) {
        identities_.emplace_back(before, name);
      } else if (chosen != kAbsent) {
        renames_.emplace(before, name);
      }
      for (const TensorId t : group.outputs) {
        if (t == chosen) continue;
        if (info(t).is_output) {
          identities_.emplace_back(name, info(t).name);
        } else {
          renames_.emplace(info(t).name, name);
        }
      }
      add_reading(name, group.parameters, shape, value.defined());
    }
  }

  Model build() {
    auto impl = std::make_shared<Model::Impl>();
    impl->proto = data_.model->proto;
    impl->stored = data_.model->stored;
    for (StoredBytes& bytes : impl->stored) {
      bytes.text = nullptr;
      bytes.owner =
          std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
              bytes.owner, data_.model);
    }
    onnx::GraphProto& graph = *impl->proto.mutable_graph();
    graph.clear_node();
    impl->proto.clear_opset_import();
    for (const auto& [domain, version] : data_.imports) {
      onnx::OperatorSetIdProto* import = impl->proto.add_opset_import();
      import->set_domain(domain);
      import->set_version(version);
    }
    if (data_.functions.empty()) impl->proto.clear_functions();
    drop_parameters(graph);
    for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
      if (const auto it = renames_.find(tensor.name()); it != renames_.end())
        tensor.set_name(it->second);
    }
    for (const auto& [t, value] : values_)
      write_tensor(value, info(t).name, graph.add_initializer());
    add_nodes(graph);
    drop_value_infos(graph);
    drop_exact_scales(impl->proto);
    // The pairs needed the raised operator set; the float model computes as it did in its own.
    restore_opset(impl->proto, [&](const std::string& name) {
      const TensorId t = graph_.find(name);
      return t == kAbsent ? Tensor() : graph_.static_value(t);
    });
    return Model(std::move(impl));
  }

  void add_identities_of(const std::string& source, onnx::GraphProto& graph) {
    for (auto& [from, to] : identities_) {
      if (from != source) continue;
      onnx::NodeProto* node = graph.add_node();
      node->set_op_type("Identity");
      node->set_name(names_.make(to + "_Identity"));
      node->add_input(from);
      node->add_output(to);
    }
  }

  void add_nodes(onnx::GraphProto& graph) {
    for (const onnx::ValueInfoProto& input : graph.input()) add_identities_of(input.name(), graph);
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      if (removed_[n] || dropped_constants_.count(static_cast<int>(n)) > 0) continue;
      onnx::NodeProto* node = graph.add_node();
      *node = *data_.nodes[n];
      node->set_name(graph_.nodes()[n].name);
      rename_tensors(node, [&](const std::string& name) {
        const auto it = renames_.find(name);
        return it == renames_.end() ? name : it->second;
      });
      const std::vector<std::string> outputs(node->output().begin(), node->output().end());
      for (const std::string& output : outputs) add_identities_of(output, graph);
    }
  }

  // Scales, zero points and codes that only the removed nodes read.
  void drop_parameters(onnx::GraphProto& graph) {
    std::set<std::string> dropped;
    for (TensorId t = 0; t < static_cast<TensorId>(graph_.tensors().size()); ++t) {
      const TensorInfo& tensor = info(t);
      if (!tensor.is_static || tensor.is_output || tensor.uses.empty()) continue;
      const bool only_removed =
          std::all_of(tensor.uses.begin(), tensor.uses.end(), [&](const Use& use) {
            return removed_[static_cast<std::size_t>(use.node)] && use.input >= 0;
          });
      // The value in front of a pair stays, under one name or the other.
      const bool stays = pairs_.count(t) > 0 && values_of_pair_kept(t);
      if (!only_removed || stays) continue;
      if (tensor.producer >= 0) {
        dropped_constants_.insert(tensor.producer);
      } else {
        dropped.insert(tensor.name);
      }
    }
    auto* initializers = graph.mutable_initializer();
    initializers->erase(std::remove_if(initializers->begin(), initializers->end(),
                                       [&](const onnx::TensorProto& tensor) {
                                         return dropped.count(tensor.name()) > 0;
                                       }),
                        initializers->end());
    auto* inputs = graph.mutable_input();
    inputs->erase(std::remove_if(inputs->begin(), inputs->end(),
                                 [&](const onnx::ValueInfoProto& input) {
                                   return dropped.count(input.name()) > 0;
                                 }),
                  inputs->end());
  }

  bool values_of_pair_kept(TensorId t) const { return pairs_.at(t).size() == 1; }

  void drop_value_infos(onnx::GraphProto& graph) const {
    std::set<std::string> known;
    for (const onnx::NodeProto& node : graph.node())
      known.insert(node.output().begin(), node.output().end());
    auto* infos = graph.mutable_value_info();
    infos->erase(std::remove_if(infos->begin(), infos->end(),
                                [&](const onnx::ValueInfoProto& value) {
                                  return known.count(value.name()) == 0;
                                }),
                 infos->end());
  }

  const Graph& graph_;
  const Graph::Data& data_;
  UniqueNames names_;
  std::vector<bool> removed_;
  std::set<int> dropped_constants_;
  std::map<TensorId, std::vector<Group>> pairs_;  // by the tensor in front
  std::map<TensorId, Tensor> values_;             // new constants, under the name of the tensor
  std::map<std::string, std::string> renames_;
  std::vector<std::pair<std::string, std::string>> identities_;
  std::vector<QdqReading> readings_;
};

}  // namespace

StrippedModel strip_qdq(const Graph& graph) { return Stripper(graph).run(); }

}  // namespace bitsweep::graph
