#include "graph/pieces/subgraph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "graph/attributes.h"
#include "graph/file/walk_tensors.h"
#include "graph/graph_data.h"
#include "graph/opset/raise_opset.h"
#include "graph/pieces/fuse_elementwise.h"
#include "graph/pieces/piece_contents.h"
#include "graph/pieces/shareable.h"

namespace bitsweep::graph {
namespace {

// From version 4 on, initializers need not be inputs. Later versions change nothing for the
// operators of a piece.
constexpr std::int64_t kPieceIrVersion = 8;

class PieceBuilder {
 public:
  PieceBuilder(const Graph& graph, const SubgraphSpec& spec, std::size_t threshold)
      : graph_(graph),
        data_(graph.data()),
        spec_(spec),
        threshold_(threshold),
        contents_(piece_contents(graph, spec)) {}

  Piece build() {
    begin_model();
    if (spec_.state_input) piece_.state_input = unused("bitsweep.state");
    name_quantized();
    pass_identities();
    add_inputs();
    add_statics();
    add_nodes();
    add_outputs();
    if (spec_.state_input) declare(piece_.state_input, DataType::kInt64, Shape{1});
    if (spec_.opset > 0) {
      raise_opset(model_, spec_.opset, [&](const std::string& name) {
        const TensorId t = graph_.find(name);
        return t == kAbsent ? nullptr : &graph_.tensor(t);
      });
    }
    if (spec_.fuse_elementwise) fuse();
    if (model_.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      refuse_piece("a piece with its weights inside would be larger than 2 GiB",
                   "lower the threshold for external weights");
    }
    piece_.bytes = model_.SerializeAsString();
    return std::move(piece_);
  }

 private:
  const std::string& name_of(TensorId t) const { return graph_.tensor(t).name; }

  void fuse() {
    const auto opset = data_.imports.find("");
    if (opset == data_.imports.end()) return;
    std::map<std::string, TensorId> hidden_names;
    for (const auto* names : {&raw_, &behind_}) {
      for (const auto& [t, name] : *names) hidden_names.emplace(name, t);
    }
    const auto find = [&](const std::string& name) {
      const auto hidden = hidden_names.find(name);
      const TensorId t = hidden != hidden_names.end() ? hidden->second : graph_.find(name);
      return t == kAbsent ? nullptr : &graph_.tensor(t);
    };
    fuse_elementwise(onnx_graph_, opset->second, find);
  }

  void begin_model() {
    model_.set_ir_version(std::max(data_.model->proto.ir_version(), kPieceIrVersion));
    model_.set_producer_name("bitsweep");
    for (const auto& [domain, version] : data_.imports) {
      if (domain == kQuantizerDomain) continue;
      onnx::OperatorSetIdProto* import = model_.add_opset_import();
      import->set_domain(domain);
      import->set_version(version);
    }
    onnx::OperatorSetIdProto* import = model_.add_opset_import();
    import->set_domain(kQuantizerDomain);
    import->set_version(1);
    for (const onnx::FunctionProto* function : data_.functions) {
      onnx::FunctionProto* copy = model_.add_functions();
      *copy = *function;
      for (onnx::AttributeProto& attribute : *copy->mutable_attribute_proto()) {
        walk_attribute_tensors(
            attribute, [&](onnx::TensorProto& t) { restore_stored(&t, data_.model->stored); });
      }
      for (onnx::NodeProto& node : *copy->mutable_node()) restore(&node);
    }
    onnx_graph_ = model_.mutable_graph();
    onnx_graph_->set_name("piece");
  }

  void restore(onnx::NodeProto* node) const {
    walk_node_tensors(*node,
                      [&](onnx::TensorProto& t) { restore_stored(&t, data_.model->stored); });
  }

  bool made_here(TensorId t) const {
    const TensorInfo& tensor = graph_.tensor(t);
    return !contents_.has_input(t) &&
           (contents_.statics.count(t) > 0 || contents_.has_node(tensor.producer));
  }

  std::string hidden(const std::string& kind, const std::string& name) {
    return unused("bitsweep." + kind + "/" + name);
  }

  /// The name wished for, or one like it that no tensor has.
  std::string unused(std::string wish) {
    while (data_.names.taken(wish) || !hidden_.insert(wish).second) wish += "_";
    return wish;
  }

  /// Decides what a quantized tensor is called in front of its quantizer and behind it.
  void name_quantized() {
    for (const QuantizerInsertion& q : spec_.quantizers) {
      const std::string& name = name_of(q.tensor);
      const bool is_input = contents_.has_input(q.tensor);
      if (!is_input && !made_here(q.tensor)) {
        // A weight that this piece doesn't read, or a result that leads nowhere: the quantizer has
        // nothing to do.
        const TensorInfo& tensor = graph_.tensor(q.tensor);
        if (tensor.is_static || (tensor.producer >= 0 && graph_.node(tensor.producer).is_dead))
          continue;
        refuse_piece(
            fmt::format("a quantizer is to sit on tensor \"{}\", which is not in the piece", name),
            "leave the quantizer out or add the tensor");
      }
      if (!quantizer_of_.emplace(q.tensor, &q).second) {
        refuse_piece(fmt::format("two quantizers are to sit on tensor \"{}\"", name),
                     "keep one of them");
      }
      if (is_input) {
        behind_[q.tensor] = hidden("quantized", name);
        rewired_[name] = behind_[q.tensor];
      } else {
        raw_[q.tensor] = hidden("raw", name);
      }
    }
    for (const TensorId t : spec_.blocked) {
      const auto& shape = graph_.tensor(t).shape;
      if (!contents_.has_input(t) || quantizer_of_.count(t) > 0 || !shape || shape->size() != 4) {
        refuse_piece(fmt::format("tensor \"{}\" cannot be blocked", name_of(t)),
                     "block inputs of the piece of four dimensions, without a quantizer");
      }
      behind_[t] = hidden("blocked", name_of(t));
      rewired_[name_of(t)] = behind_[t];
    }
    // What a node makes although the piece gets it from outside goes nowhere.
    for (const TensorId t : spec_.inputs) {
      const int producer = graph_.tensor(t).producer;
      if (contents_.has_node(producer)) raw_.emplace(t, hidden("unused", name_of(t)));
    }
  }

  /// Leaves out the nodes that only hand a value on: what reads them reads their source. The
  /// runtime removes them too, but not where their output leaves the piece, and then blocked
  /// layouts and fusions end at them.
  void pass_identities() {
    for (auto it = contents_.nodes.begin(); it != contents_.nodes.end();) {
      const Node& node = graph_.node(*it);
      const bool passes = node.op_type == "Identity" && node.domain.empty() && !node.is_constant &&
                          !contents_.has_input(node.outputs[0]) &&
                          quantizer_of_.count(node.outputs[0]) == 0;
      if (!passes) {
        ++it;
        continue;
      }
      const TensorId source = source_of(node.inputs[0]);
      source_[node.outputs[0]] = source;
      behind_[node.outputs[0]] = read_name(source);
      rewired_[name_of(node.outputs[0])] = read_name(source);
      it = contents_.nodes.erase(it);
    }
  }

  TensorId source_of(TensorId t) const {
    const auto found = source_.find(t);
    return found == source_.end() ? t : found->second;
  }

  /// Name that readers in the piece use.
  const std::string& read_name(TensorId t) const {
    const auto found = behind_.find(t);
    return found == behind_.end() ? name_of(t) : found->second;
  }

  /// Name that the producer (a node or an initializer) gives.
  const std::string& made_name(TensorId t) const {
    const auto found = raw_.find(t);
    return found == raw_.end() ? name_of(t) : found->second;
  }

  onnx::TypeProto::Tensor* declare(const std::string& name, DataType type,
                                   const std::optional<Shape>& shape) {
    onnx::ValueInfoProto* value = onnx_graph_->add_input();
    value->set_name(name);
    onnx::TypeProto::Tensor* tensor = value->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(static_cast<std::int32_t>(type));
    if (shape) {
      onnx::TensorShapeProto* to = tensor->mutable_shape();
      for (const std::int64_t d : *shape) to->add_dim()->set_dim_value(d);
    }
    return tensor;
  }

  void add_inputs() {
    for (const TensorId t : spec_.inputs) {
      const TensorInfo& tensor = graph_.tensor(t);
      const onnx::TypeProto* declared = data_.types[static_cast<std::size_t>(t)];
      const bool other_kind = declared != nullptr &&
                              declared->value_case() != onnx::TypeProto::VALUE_NOT_SET &&
                              !declared->has_tensor_type();
      if (other_kind) {
        onnx::ValueInfoProto* value = onnx_graph_->add_input();
        value->set_name(tensor.name);
        *value->mutable_type() = *declared;
      } else if (tensor.type == DataType::kUndefined) {
        refuse_piece(
            fmt::format("the element type of tensor \"{}\", an input of a piece, is not known",
                        tensor.name),
            "run the model once and give the graph its types");
      } else if (tensor.is_static || (spec_.static_shapes && tensor.shape)) {
        declare(tensor.name, tensor.type, tensor.shape);
      } else {
        onnx::TypeProto::Tensor* to = declare(tensor.name, tensor.type, std::nullopt);
        if (tensor.is_input && declared != nullptr && declared->tensor_type().has_shape()) {
          *to->mutable_shape() = declared->tensor_type().shape();
        } else if (tensor.inferred_shape) {
          // As in the whole network, so that the runtime fuses and blocks the same.
          to->mutable_shape();
          for (const Dimension& d : *tensor.inferred_shape) {
            onnx::TensorShapeProto::Dimension* dim = to->mutable_shape()->add_dim();
            if (d.size >= 0) dim->set_dim_value(d.size);
            if (d.size < 0 && !d.name.empty()) dim->set_dim_param(d.name);
          }
        }
      }
      piece_.input_names.push_back(tensor.name);
      add_quantizer(t);
      if (spec_.blocked.count(t) > 0) add_blocked(t);
    }
  }

  /// A pooling of single elements; where the runtime blocks poolings of full blocks of channels
  /// only, a depthwise convolution with ones.
  void add_blocked(TensorId t) {
    constexpr std::int64_t kLargestBlock = 16;  // of channels, on any CPU
    const std::int64_t channels = (*graph_.tensor(t).shape)[1];
    onnx::NodeProto* node = onnx_graph_->add_node();
    node->set_name(hidden("block", name_of(t)));
    node->add_input(name_of(t));
    node->add_output(read_name(t));
    if (channels % kLargestBlock == 0) {
      node->set_op_type("MaxPool");
      set_ints(node, "kernel_shape", std::array<std::int64_t, 2>{1, 1});
      return;
    }
    node->set_op_type("Conv");
    set_int(node, "group", channels);
    onnx::TensorProto* ones = onnx_graph_->add_initializer();
    Tensor values = Tensor::allocate(DataType::kFloat, {channels, 1, 1, 1});
    std::ranges::fill(values.mutable_floats(), 1.0F);
    write_tensor(values, hidden("ones", name_of(t)), ones);
    node->add_input(ones->name());
  }

  void add_statics() {
    for (const TensorId t : contents_.statics) {
      const auto replaced = spec_.replaced.find(t);
      onnx::TensorProto* to = onnx_graph_->add_initializer();
      if (replaced != spec_.replaced.end()) {
        const TensorInfo& tensor = graph_.tensor(t);
        if (replaced->second.type() != tensor.type || replaced->second.shape() != tensor.shape) {
          refuse_piece(
              fmt::format(
                  "the new value of tensor \"{}\" has another type or shape than the old one",
                  tensor.name),
              "give a value of the same kind");
        }
        add_value(to, made_name(t), replaced->second);
      } else if (graph_.tensor(t).type == DataType::kString) {
        *to = *data_.statics[static_cast<std::size_t>(t)].proto;
        to->set_name(made_name(t));
      } else {
        add_value(to, made_name(t), graph_.static_value(t),
                  quantizer_of_.count(t) == 0 && is_shareable(graph_, t));
      }
      add_quantizer(t);
    }
  }

  void add_value(onnx::TensorProto* to, const std::string& name, const Tensor& value,
                 bool shareable = false) {
    // The runtime takes pointers to whole elements only; packed types go inline.
    if (value.size_bytes() < threshold_ || data_type_size(value.type()) == 0) {
      write_tensor(value, name, to);
      return;
    }
    to->set_name(name);
    to->set_data_type(static_cast<std::int32_t>(value.type()));
    for (const std::int64_t d : value.shape()) to->add_dims(d);
    to->set_data_location(onnx::TensorProto::EXTERNAL);
    onnx::StringStringEntryProto* entry = to->add_external_data();
    entry->set_key("location");
    entry->set_value(kWeightsLocation);
    piece_.initializers.push_back({name, value, shareable});
  }

  std::string add_cast(const std::string& from, const std::string& to, DataType type) {
    onnx::NodeProto* node = onnx_graph_->add_node();
    node->set_name("bitsweep.cast/" + to);
    node->set_op_type("Cast");
    node->add_input(from);
    node->add_output(to);
    set_int(node, "to", static_cast<std::int64_t>(type));
    return to;
  }

  void add_quantizer(TensorId t) {
    const auto found = quantizer_of_.find(t);
    if (found == quantizer_of_.end()) return;
    const bool casts = found->second->cast_back != DataType::kUndefined;
    std::string source = contents_.has_input(t) ? name_of(t) : made_name(t);
    if (casts) source = add_cast(source, hidden("float", name_of(t)), DataType::kFloat);
    const std::string target = casts ? hidden("rounded", name_of(t)) : read_name(t);
    onnx::NodeProto* node = onnx_graph_->add_node();
    node->set_name("bitsweep.fake_quant/" + name_of(t));
    node->set_domain(kQuantizerDomain);
    node->set_op_type(found->second->in_place ? "FakeQuantInPlace" : "FakeQuant");
    node->add_input(source);
    if (spec_.state_input) node->add_input(piece_.state_input);
    node->add_output(target);
    if (casts) add_cast(target, read_name(t), found->second->cast_back);
    set_int(node, "index", found->second->quantizer);
    const TensorInfo& tensor = graph_.tensor(t);
    const bool is_scalar = tensor.shape ? tensor.shape->empty()
                                        : tensor.inferred_shape && tensor.inferred_shape->empty();
    if (is_scalar) set_int(node, kScalarAttribute, 1);
  }

  void add_nodes() {
    for (const int id : contents_.nodes) {
      const Node& node = graph_.node(id);
      const onnx::NodeProto& from = *data_.nodes[static_cast<std::size_t>(id)];
      // A Constant whose values became initializers has no node.
      if (std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId t) {
            return t != kAbsent && graph_.tensor(t).is_static && !needs_constant_node(graph_, t);
          })) {
        continue;
      }
      onnx::NodeProto* to = onnx_graph_->add_node();
      *to = from;
      to->set_name(node.name);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] == kAbsent) continue;
        const auto own = spec_.replaced_inputs.find({id, static_cast<int>(i)});
        if (own == spec_.replaced_inputs.end()) {
          to->set_input(static_cast<int>(i), read_name(node.inputs[i]));
          continue;
        }
        const std::string name = hidden("own", node.name + "/" + name_of(node.inputs[i]));
        add_value(onnx_graph_->add_initializer(), name, own->second);
        to->set_input(static_cast<int>(i), name);
      }
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i] != kAbsent)
          to->set_output(static_cast<int>(i), made_name(node.outputs[i]));
      }
      if (node.has_subgraph) rename_captured(to, rewired_);
      restore(to);
      for (const TensorId t : node.outputs) {
        if (t != kAbsent && !contents_.has_input(t)) add_quantizer(t);
      }
    }
  }

  void add_outputs() {
    std::set<TensorId> listed;
    for (const TensorId wanted : spec_.outputs) {
      const TensorId t = source_of(wanted);
      std::string name = read_name(t);
      // What no node of the piece makes, or what is listed a second time, needs a node and a name
      // of its own.
      const bool no_node =
          (contents_.has_input(t) || contents_.statics.count(t) > 0) && quantizer_of_.count(t) == 0;
      if (!listed.insert(t).second || no_node)
        name = add_derived("Identity", name, hidden("passed", name_of(t)));
      onnx::ValueInfoProto* value = add_output(name);
      if (graph_.tensor(t).type != DataType::kUndefined) {
        value->mutable_type()->mutable_tensor_type()->set_elem_type(
            static_cast<std::int32_t>(graph_.tensor(t).type));
      } else if (const onnx::TypeProto* declared = data_.types[static_cast<std::size_t>(t)]) {
        *value->mutable_type() = *declared;
      } else {
        value->mutable_type();  // the runtime infers the rest
      }
    }
    for (const TensorId t : spec_.shapes_of) {
      const std::string name =
          add_derived("Shape", read_name(source_of(t)), hidden("shape", name_of(t)));
      add_output(name)->mutable_type()->mutable_tensor_type()->set_elem_type(
          onnx::TensorProto::INT64);
    }
  }

  /// A node that makes `to` from one tensor.
  std::string add_derived(const char* op_type, const std::string& from, const std::string& to) {
    onnx::NodeProto* node = onnx_graph_->add_node();
    node->set_op_type(op_type);
    node->set_name(to);
    node->add_input(from);
    node->add_output(to);
    return to;
  }

  onnx::ValueInfoProto* add_output(const std::string& name) {
    onnx::ValueInfoProto* value = onnx_graph_->add_output();
    value->set_name(name);
    piece_.output_names.push_back(name);
    return value;
  }

  const Graph& graph_;
  const Graph::Data& data_;
  const SubgraphSpec& spec_;
  std::size_t threshold_;
  Piece piece_;
  onnx::ModelProto model_;
  onnx::GraphProto* onnx_graph_ = nullptr;
  PieceContents contents_;
  std::map<TensorId, const QuantizerInsertion*> quantizer_of_;
  std::map<TensorId, std::string> raw_;
  std::map<TensorId, std::string> behind_;
  std::map<TensorId, TensorId> source_;         ///< of tensors that an Identity hands on
  std::map<std::string, std::string> rewired_;  ///< by name, for bodies
  std::set<std::string> hidden_;
};

}  // namespace

Piece build_subgraph(const Graph& graph, const SubgraphSpec& spec,
                     std::size_t external_threshold_bytes) {
  return PieceBuilder(graph, spec, external_threshold_bytes).build();
}

}  // namespace bitsweep::graph
