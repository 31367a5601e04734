#include "graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <utility>

#include "bitsweep/error.h"
#include "graph/bodies/inline_functions.h"
#include "graph/graph_data.h"
#include "graph/read_attributes.h"

namespace bitsweep::graph {
namespace {

[[noreturn]] void invalid(const std::string& what, const std::string& fix) {
  throw Error(ErrorCode::kInvalidModel, "model", what, fix);
}

std::string plain_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

/// Drawing from a random generator, or code that nobody here knows: such values are never taken as
/// constant.
bool is_pure(const onnx::NodeProto& node) {
  static constexpr std::array kRandom = {
      "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike",
      "Multinomial",  "Bernoulli",     "Dropout"};
  const std::string domain = plain_domain(node.domain());
  if (!(domain.empty() || domain == "com.microsoft" || domain == "ai.onnx.ml")) return false;
  if (std::find(kRandom.begin(), kRandom.end(), node.op_type()) != kRandom.end()) return false;
  bool pure = true;
  for_each_body(node, [&](const onnx::GraphProto& body) {
    pure = pure && std::all_of(body.node().begin(), body.node().end(), is_pure);
  });
  return pure;
}

}  // namespace

/// Fills a Graph from a model, step by step.
class GraphBuilder {
 public:
  GraphBuilder(Graph* graph, Graph::Data* data)
      : graph_(*graph), data_(*data), proto_(data->model->proto.graph()) {}

  void build() {
    flatten();
    add_values();
    add_nodes();
    connect();
    sort();
    index();
  }

 private:
  std::span<const StoredBytes> stored() const { return data_.model->stored; }
  TensorInfo& info(TensorId id) { return graph_.tensors_[static_cast<std::size_t>(id)]; }

  TensorId add_tensor(const std::string& name) {
    const auto id = static_cast<TensorId>(graph_.tensors_.size());
    graph_.tensors_.push_back({});
    graph_.tensors_.back().name = name;
    graph_.by_name_.emplace(name, id);
    data_.statics.emplace_back();
    data_.types.push_back(nullptr);
    return id;
  }

  void flatten() {
    data_.names.reserve(proto_);
    FunctionInliner inliner(data_.model->proto, &data_.names);
    for (const onnx::NodeProto& node : proto_.node()) {
      if (!inliner.applies_to(node)) {
        data_.nodes.push_back(&node);
        continue;
      }
      for (onnx::NodeProto& inner : inliner.expand(node)) {
        data_.expanded.push_back(std::move(inner));
        data_.nodes.push_back(&data_.expanded.back());
      }
    }
    data_.imports = inliner.imports();
    data_.inlined_functions.assign(inliner.inlined().begin(), inliner.inlined().end());
    // A function that stays a call may call any other.
    if (!inliner.kept().empty()) {
      for (const onnx::FunctionProto& function : data_.model->proto.functions())
        data_.functions.push_back(&function);
    }
  }

  void set_static(TensorId id, StaticSource source) {
    TensorInfo& tensor = info(id);
    tensor.is_static = true;
    tensor.is_input = false;
    if (source.proto != nullptr) {
      tensor.type = static_cast<DataType>(source.proto->data_type());
      tensor.shape = Shape(source.proto->dims().begin(), source.proto->dims().end());
    } else {
      tensor.type = source.value.type();
      tensor.shape = source.value.shape();
    }
    data_.statics[static_cast<std::size_t>(id)] = std::move(source);
  }

  void add_values() {
    for (const onnx::ValueInfoProto& input : proto_.input()) {
      if (graph_.find(input.name()) != kAbsent) {
        invalid(fmt::format("the graph has two inputs named \"{}\"", input.name()),
                "rename one of them");
      }
      info(add_tensor(input.name())).is_input = true;
    }
    const auto place = [&](const std::string& name) {
      const TensorId known = graph_.find(name);
      return known != kAbsent ? known : add_tensor(name);
    };
    for (const onnx::TensorProto& t : proto_.initializer()) set_static(place(t.name()), {&t, {}});
    for (const onnx::SparseTensorProto& t : proto_.sparse_initializer()) {
      set_static(place(t.values().name()), {nullptr, read_sparse(t, stored())});
    }
    for (const onnx::ValueInfoProto& input : proto_.input()) {
      const TensorId id = graph_.find(input.name());
      if (info(id).is_input) graph_.inputs_.push_back(id);
    }
  }

  void add_nodes() {
    UniqueNames names;
    std::unordered_set<std::string> used;
    for (const onnx::NodeProto* node : data_.nodes) {
      if (!node->name().empty() && used.insert(node->name()).second) names.make(node->name());
    }
    used.clear();
    for (const onnx::NodeProto* from : data_.nodes) {
      Node node;
      const bool keeps_name = !from->name().empty() && used.insert(from->name()).second;
      node.name = keeps_name ? from->name() : names.make("/" + from->op_type());
      node.op_type = from->op_type();
      node.domain = plain_domain(from->domain());
      for (const onnx::AttributeProto& a : from->attribute()) {
        node.attributes[a.name()] = read_attribute(a);
        node.has_subgraph = node.has_subgraph || a.has_g() || a.graphs_size() > 0;
      }
      graph_.nodes_.push_back(std::move(node));
    }
  }

  void connect() {
    for (std::size_t i = 0; i < data_.nodes.size(); ++i) {
      for (const std::string& name : data_.nodes[i]->output()) {
        graph_.nodes_[i].outputs.push_back(name.empty() ? kAbsent
                                                        : produce(name, static_cast<int>(i)));
      }
    }
    for (std::size_t i = 0; i < data_.nodes.size(); ++i) {
      Node& node = graph_.nodes_[i];
      for (const std::string& name : data_.nodes[i]->input()) {
        node.inputs.push_back(name.empty() ? kAbsent : read(name, node));
      }
      if (!node.has_subgraph) continue;
      for (const std::string& name : captured_names(*data_.nodes[i]))
        node.captured.push_back(read(name, node));
    }
    for (const onnx::ValueInfoProto& output : proto_.output()) {
      const TensorId id = graph_.find(output.name());
      if (id == kAbsent) {
        invalid(fmt::format("nobody produces the graph output \"{}\"", output.name()),
                "export the model again");
      }
      info(id).is_output = true;
      graph_.outputs_.push_back(id);
    }
    declare(proto_.value_info());
    declare(proto_.input());
    declare(proto_.output());
  }

  TensorId produce(const std::string& name, int node) {
    const TensorId known = graph_.find(name);
    if (known == kAbsent) {
      const TensorId id = add_tensor(name);
      info(id).producer = node;
      const onnx::NodeProto& proto = *data_.nodes[static_cast<std::size_t>(node)];
      if (proto.op_type() == "Constant" && plain_domain(proto.domain()).empty()) {
        set_static(id, constant_value(proto, stored()));
      }
      return id;
    }
    const Node& second = graph_.node(node);
    const std::string first = info(known).producer >= 0
                                  ? "node \"" + graph_.node(info(known).producer).name + "\""
                              : info(known).is_static ? "an initializer"
                                                      : "a graph input";
    invalid(fmt::format("tensor \"{}\" comes from {} and from node \"{}\" ({})", name, first,
                        second.name, second.op_type),
            "give one of them another name");
  }

  TensorId read(const std::string& name, const Node& node) const {
    const TensorId id = graph_.find(name);
    if (id == kAbsent) {
      invalid(fmt::format("node \"{}\" ({}) reads tensor \"{}\", which nobody produces", node.name,
                          node.op_type, name),
              "export the model again");
    }
    return id;
  }

  template <typename Values>
  void declare(const Values& values) {
    for (const onnx::ValueInfoProto& value : values) {
      const TensorId id = graph_.find(value.name());
      if (id == kAbsent) continue;
      data_.types[static_cast<std::size_t>(id)] = &value.type();
      TensorInfo& tensor = info(id);
      if (!tensor.is_static && value.type().has_tensor_type()) {
        tensor.type = static_cast<DataType>(value.type().tensor_type().elem_type());
      }
    }
  }

  template <typename Visit>
  void for_each_read(const Node& node, Visit visit) {
    for (const TensorId t : node.inputs) {
      if (t != kAbsent) visit(t);
    }
    for (const TensorId t : node.captured) visit(t);
  }

  /// Kahn's algorithm that always takes the ready node that comes first in the file: an ordered
  /// file stays as it is.
  void sort() {
    const std::size_t n = graph_.nodes_.size();
    std::vector<int> waits(n, 0);
    std::vector<std::vector<int>> readers(n);
    for (std::size_t i = 0; i < n; ++i) {
      for_each_read(graph_.nodes_[i], [&](TensorId t) {
        const int producer = info(t).producer;
        if (producer < 0) return;
        ++waits[i];
        readers[static_cast<std::size_t>(producer)].push_back(static_cast<int>(i));
      });
    }
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (std::size_t i = 0; i < n; ++i) {
      if (waits[i] == 0) ready.push(static_cast<int>(i));
    }
    std::vector<int> order;
    while (!ready.empty()) {
      const int node = ready.top();
      ready.pop();
      order.push_back(node);
      for (const int reader : readers[static_cast<std::size_t>(node)]) {
        if (--waits[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
      }
    }
    if (order.size() < n) refuse_cycle(waits);
    if (std::is_sorted(order.begin(), order.end())) return;
    std::vector<Node> nodes;
    std::vector<const onnx::NodeProto*> protos;
    std::vector<int> place(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto from = static_cast<std::size_t>(order[i]);
      place[from] = static_cast<int>(i);
      nodes.push_back(std::move(graph_.nodes_[from]));
      protos.push_back(data_.nodes[from]);
    }
    graph_.nodes_ = std::move(nodes);
    data_.nodes = std::move(protos);
    for (TensorInfo& tensor : graph_.tensors_) {
      if (tensor.producer >= 0) tensor.producer = place[static_cast<std::size_t>(tensor.producer)];
    }
  }

  /// Names a node on a cycle: from any waiting node, going up waiting producers must run into one.
  [[noreturn]] void refuse_cycle(const std::vector<int>& waits) {
    const auto waiting = [&](int node) {
      return node >= 0 && waits[static_cast<std::size_t>(node)] > 0;
    };
    int node = 0;
    while (!waiting(node)) ++node;
    TensorId through = kAbsent;
    for (std::size_t step = 0; step <= waits.size(); ++step) {
      int up = -1;
      for_each_read(graph_.node(node), [&](TensorId t) {
        if (up >= 0 || !waiting(info(t).producer)) return;
        up = info(t).producer;
        through = t;
      });
      node = up;
    }
    const Node& on_cycle = graph_.node(node);
    invalid(fmt::format("the graph has a cycle through node \"{}\" ({}) and tensor \"{}\"",
                        on_cycle.name, on_cycle.op_type, info(through).name),
            "a model must be acyclic: export it again");
  }

  void index() {
    for (std::size_t i = 0; i < graph_.nodes_.size(); ++i) {
      Node& node = graph_.nodes_[i];
      const auto id = static_cast<int>(i);
      graph_.node_by_name_.emplace(node.name, id);
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        if (node.inputs[k] != kAbsent)
          info(node.inputs[k]).uses.push_back({id, static_cast<int>(k)});
      }
      for (const TensorId t : node.captured) info(t).uses.push_back({id, -1});
      bool constant = is_pure(*data_.nodes[i]);
      for_each_read(node, [&](TensorId t) {
        const TensorInfo& tensor = info(t);
        constant = constant && (tensor.is_static ||
                                (tensor.producer >= 0 && graph_.node(tensor.producer).is_constant));
      });
      // What a model gives out is computed in each run, so that quantizers there act and are
      // calibrated like all others.
      const bool gives_out = std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId x) {
        return x != kAbsent && info(x).is_output && !info(x).is_static;
      });
      node.is_constant = constant && !gives_out;
    }
    for (auto node = graph_.nodes_.rbegin(); node != graph_.nodes_.rend(); ++node) {
      node->is_dead = std::none_of(node->outputs.begin(), node->outputs.end(), [&](TensorId t) {
        return t != kAbsent &&
               (info(t).is_output ||
                std::any_of(info(t).uses.begin(), info(t).uses.end(),
                            [&](const Use& use) { return !graph_.node(use.node).is_dead; }));
      });
    }
  }

  Graph& graph_;
  Graph::Data& data_;
  const onnx::GraphProto& proto_;
};

std::int64_t Node::int_attribute(std::string_view attribute, std::int64_t fallback) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() || found->second.kind != Attribute::Kind::kInt ? fallback
                                                                                  : found->second.i;
}

Graph::Graph(Model model) : model_(std::move(model)) {
  auto data = std::make_shared<Data>();
  data->model = model_.impl();
  GraphBuilder(this, data.get()).build();
  data_ = std::move(data);
}

TensorId Graph::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? kAbsent : found->second;
}

int Graph::find_node(std::string_view name) const {
  const auto found = node_by_name_.find(name);
  return found == node_by_name_.end() ? -1 : found->second;
}

Tensor Graph::static_value(TensorId id) const {
  if (!tensor(id).is_static) return {};
  const StaticSource& source = data_->statics[static_cast<std::size_t>(id)];
  return source.proto != nullptr ? read_tensor(*source.proto, data_->model->stored, data_)
                                 : source.value;
}

}  // namespace bitsweep::graph
