#include "graph/passes/model_edit.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/half.h"
#include "bitsweep/error.h"
#include "graph/attributes.h"
#include "graph/file/walk_tensors.h"

namespace bitsweep::graph {
namespace {

bool standard_domain(const onnx::NodeProto& node) {
  return node.domain().empty() || node.domain() == "ai.onnx";
}

/// Initializers have to be inputs too before this version.
constexpr std::int64_t kFreeInitializersFromIr = 4;

/// Chains of nodes that are followed to find a rank; a bound for hostile graphs.
constexpr int kDeepest = 64;

/// Erases the entries for which `drop` holds; the others keep their order.
template <typename Field, typename Drop>
void erase_if(Field* field, Drop drop) {
  int kept = 0;
  for (int i = 0; i < field->size(); ++i) {
    if (drop(field->Get(i))) continue;
    if (i != kept) field->SwapElements(i, kept);
    ++kept;
  }
  field->DeleteSubrange(kept, field->size() - kept);
}

}  // namespace

ModelEdit::ModelEdit(const Model& model) : impl_(std::make_shared<Model::Impl>()) {
  impl_->proto = model.impl()->proto;  // cheap: large tensors are beside it
  impl_->stored = model.impl()->stored;
  // Only the model that made a string may lend it when it is saved.
  for (StoredBytes& bytes : impl_->stored) bytes.text = nullptr;
  graph_ = impl_->proto.mutable_graph();
  names_.reserve(*graph_);
  removed_.assign(static_cast<std::size_t>(graph_->node_size()), false);
  for (int i = 0; i < graph_->node_size(); ++i) {
    const onnx::NodeProto& n = graph_->node(i);
    for (int k = 0; k < n.input_size(); ++k) {
      if (!n.input(k).empty()) uses_[n.input(k)].push_back({i, k});
    }
    for (const std::string& name : captured_names(n)) uses_[name].push_back({i, -1});
    for (const std::string& name : n.output()) {
      if (!name.empty()) producers_[name] = i;
    }
  }
  for (onnx::TensorProto& t : *graph_->mutable_initializer()) initializers_[t.name()] = &t;
  for (const onnx::ValueInfoProto& v : graph_->value_info()) types_[v.name()] = &v.type();
  for (const onnx::ValueInfoProto& v : graph_->input()) types_[v.name()] = &v.type();
  for (const onnx::ValueInfoProto& v : graph_->output()) {
    types_[v.name()] = &v.type();
    outputs_.insert(v.name());
  }
}

std::string ModelEdit::label(int i) const {
  const onnx::NodeProto& n = node(i);
  return n.name().empty() && n.output_size() > 0 ? n.output(0) : n.name();
}

bool ModelEdit::is(int i, std::string_view op_type) const {
  return i >= 0 && node(i).op_type() == op_type && standard_domain(node(i));
}

const std::vector<ModelEdit::Use>& ModelEdit::uses(const std::string& tensor) const {
  static const std::vector<Use> kNone;
  const auto found = uses_.find(tensor);
  return found == uses_.end() ? kNone : found->second;
}

int ModelEdit::producer(const std::string& tensor) const {
  const auto found = producers_.find(tensor);
  return found == producers_.end() ? -1 : found->second;
}

int ModelEdit::only_reader(const std::string& tensor) const {
  const std::vector<Use>& readers = uses(tensor);
  if (readers.size() != 1 || readers[0].input < 0 || is_output(tensor)) return -1;
  return readers[0].node;
}

std::vector<std::string> ModelEdit::initializer_names() const {
  std::vector<std::string> names;
  for (const onnx::TensorProto& t : graph().initializer()) names.push_back(t.name());
  return names;
}

onnx::TensorProto* ModelEdit::static_message(const std::string& tensor) {
  if (const auto found = initializers_.find(tensor); found != initializers_.end())
    return found->second;
  const int from = producer(tensor);
  if (!is(from, "Constant")) return nullptr;
  onnx::NodeProto* constant = mutable_node(from);
  for (onnx::AttributeProto& a : *constant->mutable_attribute()) {
    if (a.name() == "value") return a.mutable_t();
    // The short forms become a tensor: then there is one way to write.
    const bool scalar = a.name() == "value_float" || a.name() == "value_int";
    const bool floats = a.name() == "value_float" || a.name() == "value_floats";
    if (!scalar && a.name() != "value_floats" && a.name() != "value_ints") continue;
    onnx::TensorProto value;
    value.set_data_type(floats ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT64);
    if (a.name() == "value_float") value.add_float_data(a.f());
    if (a.name() == "value_int") value.add_int64_data(a.i());
    value.mutable_float_data()->MergeFrom(a.floats());
    value.mutable_int64_data()->MergeFrom(a.ints());
    if (!scalar) value.add_dims(floats ? a.floats_size() : a.ints_size());
    a.Clear();
    a.set_name("value");
    a.set_type(onnx::AttributeProto::TENSOR);
    *a.mutable_t() = std::move(value);
    return a.mutable_t();
  }
  return nullptr;
}

std::vector<double> ModelEdit::read(const onnx::TensorProto& message) const {
  const Tensor value = read_tensor(message, impl_->stored, impl_);
  if (value.type() == DataType::kDouble) {
    const auto* data = static_cast<const double*>(value.data());
    return {data, data + value.size()};
  }
  const Tensor floats = value.to_float();
  return {floats.floats().begin(), floats.floats().end()};
}

std::vector<std::int64_t> ModelEdit::read_integers(const onnx::TensorProto& message) const {
  const Tensor value = read_tensor(message, impl_->stored, impl_);
  if (value.type() != DataType::kInt64) return {};
  const auto* data = static_cast<const std::int64_t*>(value.data());
  return {data, data + value.size()};
}

void ModelEdit::write(onnx::TensorProto* message, const Shape& shape,
                      const std::vector<double>& values) {
  const auto type = static_cast<DataType>(message->data_type());
  Tensor tensor = Tensor::allocate(type, shape);
  const auto fill = [&]<typename T>(T* to, auto convert) {
    std::transform(values.begin(), values.end(), to, convert);
  };
  switch (type) {
    case DataType::kDouble:
      fill(static_cast<double*>(tensor.mutable_data()), [](double v) { return v; });
      break;
    case DataType::kFloat16:
      fill(static_cast<std::uint16_t*>(tensor.mutable_data()),
           [](double v) { return float_to_half(static_cast<float>(v)); });
      break;
    case DataType::kBfloat16:
      fill(static_cast<std::uint16_t*>(tensor.mutable_data()),
           [](double v) { return float_to_bfloat16(static_cast<float>(v)); });
      break;
    default:
      fill(tensor.mutable_floats().data(), [](double v) { return static_cast<float>(v); });
  }
  write_tensor(tensor, std::string(message->name()), message);
  if (message->raw_data().size() < kStoredBytesMin) return;
  const auto text = std::make_shared<std::string>(std::move(*message->mutable_raw_data()));
  message->clear_raw_data();
  impl_->stored.push_back(
      {text, reinterpret_cast<const std::byte*>(text->data()), text->size(), text.get()});
  mark_stored(message, impl_->stored.size() - 1);
}

std::string ModelEdit::add_initializer(const std::string& wish, std::int32_t data_type,
                                       const Shape& shape, const std::vector<double>& values) {
  onnx::TensorProto* added = graph_->add_initializer();
  added->set_name(names_.make(wish));
  added->set_data_type(data_type);
  write(added, shape, values);
  register_initializer(added);
  return added->name();
}

std::string ModelEdit::copy_initializer(const std::string& name, const std::string& wish) {
  const onnx::TensorProto& from = *initializers_.at(name);
  onnx::TensorProto* added = graph_->add_initializer();
  *added = from;
  added->set_name(names_.make(wish));
  register_initializer(added);
  return added->name();
}

void ModelEdit::register_initializer(onnx::TensorProto* added) {
  initializers_[added->name()] = added;
  if (impl_->proto.ir_version() >= kFreeInitializersFromIr) return;
  onnx::ValueInfoProto* input = graph_->add_input();
  input->set_name(added->name());
  onnx::TypeProto::Tensor* tensor = input->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(added->data_type());
  for (const std::int64_t d : added->dims()) tensor->mutable_shape()->add_dim()->set_dim_value(d);
}

void ModelEdit::drop_use(const std::string& tensor, int node, int input) {
  std::vector<Use>& readers = uses_[tensor];
  const auto found = std::find_if(readers.begin(), readers.end(), [&](const Use& use) {
    return use.node == node && use.input == input;
  });
  if (found != readers.end()) readers.erase(found);
  lost_reader_.insert(tensor);
}

void ModelEdit::set_input(int node, int input, const std::string& tensor) {
  onnx::NodeProto* n = mutable_node(node);
  while (n->input_size() <= input) n->add_input();
  if (n->input(input) == tensor) return;
  if (!n->input(input).empty()) drop_use(n->input(input), node, input);
  n->set_input(input, tensor);
  uses_[tensor].push_back({node, input});
}

void ModelEdit::clear_input(int node, int input) {
  onnx::NodeProto* n = mutable_node(node);
  if (n->input(input).empty()) return;
  drop_use(n->input(input), node, input);
  n->set_input(input, "");
}

void ModelEdit::remove_node(int node) {
  const onnx::NodeProto& n = this->node(node);
  for (int k = 0; k < n.input_size(); ++k) {
    if (!n.input(k).empty()) drop_use(n.input(k), node, k);
  }
  removed_[static_cast<std::size_t>(node)] = true;
}

void ModelEdit::redirect(const std::string& from, int node) {
  onnx::NodeProto* n = mutable_node(node);
  if (is_output(from)) {
    // The name of a graph output is part of the model's face, so the layer takes it.
    producers_.erase(n->output(0));
    forget_declaration(n->output(0));
    n->set_output(0, from);
    producers_[from] = node;
    return;
  }
  const std::string to = n->output(0);
  const std::vector<Use> readers = std::exchange(uses_[from], {});
  for (const Use& use : readers) {
    if (use.input < 0) {
      rename_captured(mutable_node(use.node), {{from, to}});
    } else {
      mutable_node(use.node)->set_input(use.input, to);
    }
    uses_[to].push_back(use);
  }
  forget_declaration(from);
}

const onnx::TypeProto::Tensor* ModelEdit::declared(const std::string& tensor) const {
  const auto found = types_.find(tensor);
  if (found == types_.end() || !found->second->has_tensor_type()) return nullptr;
  return &found->second->tensor_type();
}

void ModelEdit::forget_declaration(const std::string& tensor) {
  types_.erase(tensor);
  erase_if(graph_->mutable_value_info(),
           [&](const onnx::ValueInfoProto& v) { return v.name() == tensor; });
}

std::optional<int> ModelEdit::rank(const std::string& tensor) const { return rank(tensor, 0); }

std::optional<int> ModelEdit::rank(const std::string& tensor, int depth) const {
  static constexpr std::array kKeepRank = {"AveragePool",
                                           "BatchNormalization",
                                           "Cast",
                                           "Clip",
                                           "Conv",
                                           "ConvTranspose",
                                           "Dropout",
                                           "Elu",
                                           "Erf",
                                           "Gelu",
                                           "GlobalAveragePool",
                                           "GlobalMaxPool",
                                           "HardSigmoid",
                                           "HardSwish",
                                           "Identity",
                                           "LeakyRelu",
                                           "LogSoftmax",
                                           "MaxPool",
                                           "PRelu",
                                           "Relu",
                                           "Selu",
                                           "Sigmoid",
                                           "Softmax",
                                           "Softplus",
                                           "Tanh"};
  static constexpr std::array kBroadcast = {"Add", "Div", "MatMul", "Max", "Min", "Mul", "Sub"};
  if (const onnx::TypeProto::Tensor* type = declared(tensor); type != nullptr && type->has_shape())
    return type->shape().dim_size();
  if (const auto found = initializers_.find(tensor); found != initializers_.end())
    return found->second->dims_size();
  const int from = producer(tensor);
  if (from < 0 || depth > kDeepest || !standard_domain(node(from))) return std::nullopt;
  const onnx::NodeProto& n = node(from);
  const auto is_one_of = [&](const auto& list) {
    return std::find(list.begin(), list.end(), n.op_type()) != list.end();
  };
  if (n.op_type() == "Gemm" || n.op_type() == "Flatten") return 2;
  if (n.op_type() == "Constant") {
    const onnx::AttributeProto* value = find_attribute(n, "value");
    return value != nullptr ? std::optional(value->t().dims_size()) : std::nullopt;
  }
  if (n.op_type() == "Reshape" && n.input_size() == 2) {
    if (const auto shape = initializers_.find(n.input(1)); shape != initializers_.end())
      return shape->second->dims_size() == 1
                 ? std::optional(static_cast<int>(shape->second->dims(0)))
                 : std::nullopt;
    const int constant = producer(n.input(1));
    if (!is(constant, "Constant")) return std::nullopt;
    if (const onnx::AttributeProto* a = find_attribute(node(constant), "value_ints"))
      return a->ints_size();
    const onnx::AttributeProto* a = find_attribute(node(constant), "value");
    return a != nullptr && a->t().dims_size() == 1 ? std::optional(static_cast<int>(a->t().dims(0)))
                                                   : std::nullopt;
  }
  if (n.op_type() == "Transpose") {
    const onnx::AttributeProto* perm = find_attribute(n, "perm");
    return perm != nullptr ? std::optional(perm->ints_size()) : rank(n.input(0), depth + 1);
  }
  if (is_one_of(kKeepRank)) return rank(n.input(0), depth + 1);
  if (!is_one_of(kBroadcast)) return std::nullopt;
  std::optional<int> highest;
  for (const std::string& input : n.input()) {
    const std::optional<int> one = rank(input, depth + 1);
    if (!one) return std::nullopt;
    highest = std::max(highest.value_or(0), *one);
  }
  return highest;
}

void ModelEdit::drop_unused() {
  const auto is_unused = [&](const std::string& tensor) {
    return lost_reader_.count(tensor) > 0 && uses(tensor).empty() && !is_output(tensor);
  };
  for (int i = 0; i < num_nodes(); ++i) {
    if (is(i, "Constant") && is_unused(node(i).output(0)))
      removed_[static_cast<std::size_t>(i)] = true;
  }
  std::unordered_set<std::string> gone;
  for (const auto& [name, message] : initializers_) {
    if (is_unused(name)) gone.insert(name);
  }
  const auto is_gone = [&](const auto& entry) { return gone.count(entry.name()) > 0; };
  erase_if(graph_->mutable_initializer(), is_gone);
  // Old files list initializers as inputs too.
  erase_if(graph_->mutable_input(), is_gone);

  std::unordered_set<std::string> values_gone = std::move(gone);
  int index = 0;
  for (const onnx::NodeProto& n : graph_->node()) {
    if (removed_[static_cast<std::size_t>(index++)])
      values_gone.insert(n.output().begin(), n.output().end());
  }
  for (const onnx::ValueInfoProto& v : graph_->output()) values_gone.erase(v.name());
  erase_if(graph_->mutable_value_info(),
           [&](const onnx::ValueInfoProto& v) { return values_gone.count(v.name()) > 0; });
  index = 0;
  erase_if(graph_->mutable_node(),
           [&](const onnx::NodeProto&) { return removed_[static_cast<std::size_t>(index++)]; });
}

void ModelEdit::compact_storage() {
  std::map<int, std::size_t> place;
  std::vector<StoredBytes> kept;
  walk_tensors(impl_->proto, [&](onnx::TensorProto& tensor) {
    const int index = stored_index(tensor);
    if (index < 0) return;
    const auto [entry, is_new] = place.emplace(index, kept.size());
    StoredBytes& bytes = impl_->stored[static_cast<std::size_t>(index)];
    if (is_new) {
      kept.push_back(bytes);
    } else {
      // Two tensors read these bytes, so none may take the string away while the model is saved.
      kept[entry->second].text = nullptr;
    }
    mark_stored(&tensor, entry->second);
  });
  impl_->stored = std::move(kept);
}

Model ModelEdit::finish() {
  drop_unused();
  compact_storage();
  return Model(std::move(impl_));
}

}  // namespace bitsweep::graph
