#include "graph/qdq/qdq_rewrite.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "bitsweep/error.h"
#include "graph/attributes.h"
#include "graph/graph_data.h"
#include "graph/opset/raise_opset.h"
#include "graph/opset/restore_opset.h"
#include "graph/qdq/exact_scale.h"

namespace bitsweep::graph {
namespace {

using Renames = std::map<std::string, std::string, std::less<>>;

// Names are unique over a graph and its bodies, so a name means the same tensor everywhere below.
void rename_inputs(onnx::NodeProto& node, const Renames& renames) {
  for (std::string& name : *node.mutable_input()) {
    if (const auto it = renames.find(name); it != renames.end()) name = it->second;
  }
  const auto body = [&](onnx::GraphProto& graph) {
    for (onnx::NodeProto& inner : *graph.mutable_node()) rename_inputs(inner, renames);
    for (onnx::ValueInfoProto& output : *graph.mutable_output()) {
      if (const auto it = renames.find(output.name()); it != renames.end())
        output.set_name(it->second);
    }
  };
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) body(*attribute.mutable_g());
    for (onnx::GraphProto& graph : *attribute.mutable_graphs()) body(graph);
  }
}

class Rewriter {
 public:
  Rewriter(const Graph& graph, const std::vector<QdqSite>& sites)
      : graph_(graph),
        data_(graph.data()),
        names_(graph.data().names),
        impl_(std::make_shared<Model::Impl>()) {
    for (const QdqSite& site : sites) {
      if (site.readers.empty()) {
        sites_.emplace(site.tensor, &site);
      } else {
        copies_.push_back(&site);
      }
    }
  }

  Model build(std::int64_t opset) {
    impl_->proto = data_.model->proto;
    // The original keeps the right to lend its strings, so the copy reads them only.
    impl_->stored = data_.model->stored;
    for (StoredBytes& bytes : impl_->stored) bytes.text = nullptr;
    owner_of_strings();
    onnx::GraphProto& graph = *impl_->proto.mutable_graph();
    graph.clear_node();
    set_imports();
    add_source_pairs(graph);
    add_copies(graph);
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) add_node(static_cast<int>(n), graph);
    const auto source = data_.imports.find("");
    if (source != data_.imports.end() && source->second < opset)
      note_source_opset(impl_->proto, source->second);
    raise_opset(impl_->proto, opset, facts());
    impl_->proto.set_producer_name("bitsweep");
    impl_->proto.clear_producer_version();
    return Model(std::move(impl_));
  }

 private:
  const std::string& name_of(TensorId t) const { return graph_.tensor(t).name; }

  // By names of the written model: readers of a quantized graph input know it by another one.
  TensorFacts facts() const {
    Renames originals;
    for (const auto& [original, name] : renames_) originals.emplace(name, original);
    return [this, originals = std::move(originals)](const std::string& name) {
      const auto renamed = originals.find(name);
      const TensorId t = graph_.find(renamed == originals.end() ? name : renamed->second);
      return t == kAbsent ? nullptr : &graph_.tensor(t);
    };
  }

  // Views without an owner point into strings of the original message.
  void owner_of_strings() {
    for (StoredBytes& bytes : impl_->stored) {
      bytes.owner =
          std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
              bytes.owner, data_.model);
    }
  }

  void set_imports() {
    impl_->proto.clear_opset_import();
    for (const auto& [domain, version] : data_.imports) {
      onnx::OperatorSetIdProto* import = impl_->proto.add_opset_import();
      import->set_domain(domain);
      import->set_version(version);
    }
    if (data_.functions.empty()) impl_->proto.clear_functions();
  }

  static onnx::TensorProto* find_initializer(onnx::GraphProto& graph, const std::string& name) {
    for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
      if (tensor.name() == name) return &tensor;
    }
    return nullptr;
  }

  static bool is_input(const onnx::GraphProto& graph, const std::string& name) {
    for (const onnx::ValueInfoProto& input : graph.input()) {
      if (input.name() == name) return true;
    }
    return false;
  }

  static void drop_input(onnx::GraphProto& graph, const std::string& name) {
    for (int i = 0; i < graph.input_size(); ++i) {
      if (graph.input(i).name() == name) {
        graph.mutable_input()->DeleteSubrange(i, 1);
        return;
      }
    }
  }

  void write(const ComputedTensor& tensor, const std::string& name, onnx::TensorProto* to) {
    write_computed(tensor.type, tensor.shape, tensor.make, name, to, &impl_->stored);
  }

  // Instead of a Constant node or a sparse initializer.
  onnx::TensorProto* make_initializer(const QdqSite& site, onnx::GraphProto& graph) {
    const std::string& name = name_of(site.tensor);
    if (const int producer = graph_.tensor(site.tensor).producer; producer >= 0) {
      replaced_nodes_.insert(producer);
    } else {
      auto* sparse = graph.mutable_sparse_initializer();
      for (int i = sparse->size(); i-- > 0;) {
        if (sparse->Get(i).values().name() == name) sparse->DeleteSubrange(i, 1);
      }
    }
    onnx::TensorProto* initializer = graph.add_initializer();
    if (site.value.defined() || site.codes.defined()) {
      initializer->set_name(name);
    } else {
      write_tensor(graph_.static_value(site.tensor), name, initializer);
    }
    return initializer;
  }

  void add_source_pairs(onnx::GraphProto& graph) {
    for (const auto& [tensor, site] : sites_) {
      const TensorInfo& info = graph_.tensor(tensor);
      if (info.producer >= 0 && !info.is_static) continue;
      const std::string& name = name_of(tensor);
      onnx::TensorProto* initializer = find_initializer(graph, name);
      if (initializer == nullptr && info.is_static) initializer = make_initializer(*site, graph);
      if (site->value.defined() && !site->scale.defined()) {
        initializer->Clear();
        write(site->value, name, initializer);
        continue;
      }
      if (initializer == nullptr) {  // a graph input: its name stays with the caller's data
        const std::string output = names_.make(name + "_qdq");
        renames_.emplace(name, output);
        add_pair(*site, name, output, graph);
        continue;
      }
      drop_input(graph, name);  // a stored weight; a caller can't replace it any more
      if (site->codes.defined()) {
        const std::string codes = names_.make(name + "_q");
        initializer->Clear();
        write(site->codes, codes, initializer);
        add_dequantize(*site, codes, name, parameters(*site, graph), graph);
        continue;
      }
      const std::string source = names_.make(name + "_float");
      if (site->value.defined()) {
        initializer->Clear();
        write(site->value, source, initializer);
      } else {
        initializer->set_name(source);
      }
      add_pair(*site, source, name, graph);
    }
  }

  // Codes for some readers of a constant; it goes itself when no reader is left.
  void add_copies(onnx::GraphProto& graph) {
    std::map<TensorId, std::size_t> num_moved;
    for (const QdqSite* site : copies_) {
      const std::string& name = name_of(site->tensor);
      const std::string codes = names_.make(name + "_q");
      const std::string output = names_.make(name + "_dq");
      write(site->codes, codes, graph.add_initializer());
      add_dequantize(*site, codes, output, parameters(*site, graph), graph);
      for (const int reader : site->readers) moved_inputs_[reader].emplace(name, output);
      num_moved[site->tensor] += site->readers.size();
    }
    for (const auto& [tensor, count] : num_moved) {
      const TensorInfo& info = graph_.tensor(tensor);
      if (count < info.uses.size() || info.is_output || info.producer >= 0) continue;
      drop_input(graph, info.name);
      auto* initializers = graph.mutable_initializer();
      for (int i = initializers->size(); i-- > 0;) {
        if (initializers->Get(i).name() == info.name) initializers->DeleteSubrange(i, 1);
      }
    }
  }

  void add_node(int index, onnx::GraphProto& graph) {
    if (replaced_nodes_.count(index) > 0) return;
    onnx::NodeProto* node = graph.add_node();
    *node = *data_.nodes[static_cast<std::size_t>(index)];
    node->set_name(graph_.node(index).name);
    rename_inputs(*node, renames_);
    if (const auto moved = moved_inputs_.find(index); moved != moved_inputs_.end())
      rename_inputs(*node, moved->second);
    std::vector<std::pair<const QdqSite*, std::string>> behind;
    for (int o = 0; o < node->output_size(); ++o) {
      const TensorId tensor = graph_.find(node->output(o));
      const auto site = sites_.find(tensor);
      if (node->output(o).empty() || site == sites_.end()) continue;
      const std::string source = names_.make(node->output(o) + "_float");
      node->set_output(o, source);
      behind.emplace_back(site->second, source);
    }
    for (const auto& [site, source] : behind) add_pair(*site, source, name_of(site->tensor), graph);
  }

  std::string add_initializer(const Tensor& value, const std::string& wish,
                              onnx::GraphProto& graph) {
    std::string name = names_.make(wish);
    write_tensor(value, name, graph.add_initializer());
    return name;
  }

  // Scale and zero point of a site, written once for both nodes.
  std::pair<std::string, std::string> parameters(const QdqSite& site, onnx::GraphProto& graph) {
    const std::string& name = name_of(site.tensor);
    std::string scale = site.scale_multiples.defined()
                            ? add_scale(site, graph)
                            : add_initializer(site.scale, name + "_scale", graph);
    std::string zero = add_initializer(site.zero_point, name + "_zero_point", graph);
    return {std::move(scale), std::move(zero)};
  }

  // Name of a scale that is itself dequantized.
  std::string add_scale(const QdqSite& site, onnx::GraphProto& graph) {
    const std::string& name = name_of(site.tensor);
    const std::string multiples = add_initializer(site.scale_multiples, name + "_scale_q", graph);
    const std::string unit = add_initializer(site.scale, name + "_meta_scale", graph);
    std::string scale = names_.make(name + "_scale");
    onnx::NodeProto* node = graph.add_node();
    node->set_op_type("DequantizeLinear");
    node->set_name(node_name(name + "_scale_DequantizeLinear"));
    node->add_input(multiples);
    node->add_input(unit);
    node->add_input(add_initializer(site.scale_zero_point, name + "_meta_zero_point", graph));
    node->add_output(scale);
    set_int(node, "axis", site.scale_axis);
    if (!site.exact_scale.empty()) note_exact_scale(impl_->proto, scale, site.exact_scale);
    return scale;
  }

  onnx::NodeProto* add_linear(const char* type, const QdqSite& site, const std::string& in,
                              const std::string& out,
                              const std::pair<std::string, std::string>& parameters,
                              onnx::GraphProto& graph) {
    onnx::NodeProto* node = graph.add_node();
    node->set_op_type(type);
    node->add_input(in);
    node->add_input(parameters.first);
    node->add_input(parameters.second);
    node->add_output(out);
    if (site.axis >= 0) set_int(node, "axis", site.axis);
    if (site.block_size > 0) set_int(node, "block_size", site.block_size);
    return node;
  }

  std::string node_name(const std::string& wish) {
    std::string name = wish;
    for (int i = 1; graph_.find_node(name) >= 0 || !node_names_.insert(name).second; ++i)
      name = wish + "_" + std::to_string(i);
    return name;
  }

  void add_pair(const QdqSite& site, const std::string& in, const std::string& out,
                onnx::GraphProto& graph) {
    std::string last = in;
    if (site.cast_to != DataType::kUndefined) {
      last = names_.make(name_of(site.tensor) + "_cast");
      add_cast(site, site.cast_to, in, last, graph);
    }
    if (!site.scale.defined()) {
      add_cast(site, site.cast_back, last, out, graph);
      return;
    }
    const auto names = parameters(site, graph);
    if (site.low.defined()) last = add_clip(site, last, graph);
    const std::string codes = names_.make(name_of(site.tensor) + "_q");
    add_linear("QuantizeLinear", site, last, codes, names, graph)
        ->set_name(node_name(name_of(site.tensor) + "_QuantizeLinear"));
    add_dequantize(site, codes, out, names, graph);
  }

  void add_cast(const QdqSite& site, DataType to, const std::string& in, const std::string& out,
                onnx::GraphProto& graph) {
    onnx::NodeProto* node = graph.add_node();
    node->set_op_type("Cast");
    node->set_name(node_name(name_of(site.tensor) + "_Cast"));
    node->add_input(in);
    node->add_output(out);
    set_int(node, "to", static_cast<std::int64_t>(to));
  }

  std::string add_clip(const QdqSite& site, const std::string& in, onnx::GraphProto& graph) {
    const std::string& name = name_of(site.tensor);
    const std::string low = add_initializer(site.low, name + "_low", graph);
    const std::string high = add_initializer(site.high, name + "_high", graph);
    std::string clipped = names_.make(name + "_clipped");
    onnx::NodeProto* node = graph.add_node();
    node->set_op_type("Clip");
    node->set_name(node_name(name + "_Clip"));
    node->add_input(in);
    node->add_input(low);
    node->add_input(high);
    node->add_output(clipped);
    return clipped;
  }

  void add_dequantize(const QdqSite& site, const std::string& codes, const std::string& out,
                      const std::pair<std::string, std::string>& parameters,
                      onnx::GraphProto& graph) {
    const bool cast = site.cast_back != DataType::kUndefined;
    const std::string value = cast ? names_.make(name_of(site.tensor) + "_dq") : out;
    add_linear("DequantizeLinear", site, codes, value, parameters, graph)
        ->set_name(node_name(name_of(site.tensor) + "_DequantizeLinear"));
    if (cast) add_cast(site, site.cast_back, value, out, graph);
  }

  const Graph& graph_;
  const Graph::Data& data_;
  UniqueNames names_;
  std::shared_ptr<Model::Impl> impl_;
  std::map<TensorId, const QdqSite*> sites_;
  Renames renames_;
  std::vector<const QdqSite*> copies_;   // of constants, for some readers
  std::map<int, Renames> moved_inputs_;  // by node
  std::set<int> replaced_nodes_;         // Constant nodes that became initializers
  std::set<std::string> node_names_;
};

}  // namespace

Model insert_qdq(const Graph& graph, const std::vector<QdqSite>& sites, std::int64_t opset) {
  return Rewriter(graph, sites).build(opset);
}

}  // namespace bitsweep::graph
