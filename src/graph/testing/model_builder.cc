#include "graph/testing/model_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "graph/testing/model_builder_impl.h"

namespace bitsweep::graph::testing {
namespace {

[[noreturn]] void fail(std::string_view text, const std::string& what) {
  throw std::logic_error(fmt::format("node text '{}': {}", text, what));
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\n')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\n')) s.remove_suffix(1);
  return s;
}

/// Splits at commas that are outside of brackets and strings.
std::vector<std::string> split(std::string_view s) {
  std::vector<std::string> parts;
  if (trim(s).empty()) return parts;
  int depth = 0;
  bool quoted = false;
  std::string part;
  for (const char c : s) {
    if (c == '"') quoted = !quoted;
    if (!quoted && c == '[') ++depth;
    if (!quoted && c == ']') --depth;
    if (c == ',' && depth == 0 && !quoted) {
      parts.emplace_back(trim(part));
      part.clear();
    } else {
      part += c;
    }
  }
  parts.emplace_back(trim(part));
  return parts;
}

bool is_float(const std::string& s) { return s.find_first_of(".eE") != std::string::npos; }
bool is_string(const std::string& s) {
  return s.size() >= 2 && s.front() == '"' && s.back() == '"';
}
std::string unquote(const std::string& s) { return s.substr(1, s.size() - 2); }

void set_attribute(onnx::AttributeProto* a, const std::string& value) {
  using A = onnx::AttributeProto;
  if (value.empty()) throw std::logic_error("attribute without a value");
  if (value.front() == '@') {
    a->set_ref_attr_name(value.substr(1));
    a->set_type(A::INT);
  } else if (is_string(value)) {
    a->set_type(A::STRING);
    a->set_s(unquote(value));
  } else if (value.front() == '[') {
    const std::vector<std::string> items = split(value.substr(1, value.size() - 2));
    const bool strings = !items.empty() && is_string(items[0]);
    const bool floats = !strings && std::any_of(items.begin(), items.end(), is_float);
    a->set_type(strings ? A::STRINGS : floats ? A::FLOATS : A::INTS);
    for (const std::string& item : items) {
      if (strings) {
        a->add_strings(unquote(item));
      } else if (floats) {
        a->add_floats(std::stof(item));
      } else {
        a->add_ints(std::stoll(item));
      }
    }
  } else if (is_float(value)) {
    a->set_type(A::FLOAT);
    a->set_f(std::stof(value));
  } else {
    a->set_type(A::INT);
    a->set_i(std::stoll(value));
  }
}

onnx::NodeProto parse_node(std::string_view text) {
  onnx::NodeProto node;
  const std::size_t equals = text.find('=');
  const std::size_t open = text.find('(', equals);
  const std::size_t close = text.find(')', open);
  if (close == std::string_view::npos) fail(text, "expected outputs = Type(inputs)");
  for (const std::string& output : split(text.substr(0, equals))) node.add_output(output);
  std::string type(trim(text.substr(equals + 1, open - equals - 1)));
  if (const std::size_t colons = type.find("::"); colons != std::string::npos) {
    node.set_domain(type.substr(0, colons));
    type = type.substr(colons + 2);
  }
  node.set_op_type(type);
  for (const std::string& input : split(text.substr(open + 1, close - open - 1)))
    node.add_input(input);
  const std::string_view rest = trim(text.substr(close + 1));
  if (rest.empty()) return node;
  if (rest.front() != '{' || rest.back() != '}')
    fail(text, "expected {attributes} behind the inputs");
  for (const std::string& item : split(rest.substr(1, rest.size() - 2))) {
    const std::size_t colon = item.find(':');
    if (colon == std::string::npos) fail(text, "expected key: value");
    const std::string key(trim(item.substr(0, colon)));
    const std::string value(trim(std::string_view(item).substr(colon + 1)));
    if (key == "name") {
      node.set_name(unquote(value));
      continue;
    }
    onnx::AttributeProto* a = node.add_attribute();
    a->set_name(key);
    set_attribute(a, value);
  }
  return node;
}

void set_value(onnx::ValueInfoProto* value, const std::string& name, const Shape* shape,
               DataType type) {
  value->set_name(name);
  if (type == DataType::kUndefined) return;
  onnx::TypeProto::Tensor* t = value->mutable_type()->mutable_tensor_type();
  t->set_elem_type(static_cast<int>(type));
  if (shape == nullptr) return;
  t->mutable_shape();
  int symbol = 0;
  for (const std::int64_t d : *shape) {
    if (d >= 0) {
      t->mutable_shape()->add_dim()->set_dim_value(d);
    } else {
      t->mutable_shape()->add_dim()->set_dim_param(fmt::format("d{}", symbol));
    }
    ++symbol;
  }
}

void set_tensor(onnx::TensorProto* t, const std::string& name, const Tensor& value) {
  t->set_name(name);
  t->set_data_type(static_cast<int>(value.type()));
  for (const std::int64_t d : value.shape()) t->add_dims(d);
  t->set_raw_data(value.data(), value.size_bytes());
}

}  // namespace

ModelBuilder::ModelBuilder() : impl_(std::make_unique<Impl>()) {
  impl_->proto.set_ir_version(8);
  impl_->proto.mutable_graph()->set_name("test");
}
ModelBuilder::~ModelBuilder() = default;
ModelBuilder::ModelBuilder(ModelBuilder&&) noexcept = default;

ModelBuilder& ModelBuilder::ir_version(std::int64_t version) {
  impl_->proto.set_ir_version(version);
  return *this;
}

ModelBuilder& ModelBuilder::opset(std::int64_t version, const std::string& domain) {
  onnx::OperatorSetIdProto* import = impl_->proto.add_opset_import();
  import->set_domain(domain);
  import->set_version(version);
  return *this;
}

ModelBuilder& ModelBuilder::input(const std::string& name, const Shape& shape, DataType type) {
  set_value(impl_->proto.mutable_graph()->add_input(), name, &shape, type);
  return *this;
}

ModelBuilder& ModelBuilder::output(const std::string& name, DataType type) {
  set_value(impl_->proto.mutable_graph()->add_output(), name, nullptr, type);
  return *this;
}

ModelBuilder& ModelBuilder::value_info(const std::string& name, const Shape& shape, DataType type) {
  set_value(impl_->proto.mutable_graph()->add_value_info(), name, &shape, type);
  return *this;
}

ModelBuilder& ModelBuilder::initializer(const std::string& name, const Tensor& value) {
  set_tensor(impl_->proto.mutable_graph()->add_initializer(), name, value);
  return *this;
}

ModelBuilder& ModelBuilder::floats(const std::string& name, const Shape& shape,
                                   const std::vector<float>& values) {
  return initializer(name, tensor(shape, values));
}

ModelBuilder& ModelBuilder::ints(const std::string& name, const Shape& shape,
                                 const std::vector<std::int64_t>& values) {
  return initializer(name, tensor(shape, values));
}

ModelBuilder& ModelBuilder::random(const std::string& name, const Shape& shape,
                                   std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(num_elements(shape)));
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
  for (float& v : values) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    v = static_cast<float>(static_cast<std::int64_t>(state >> 40) - (1 << 23)) * 0x1p-23F;
  }
  return floats(name, shape, values);
}

ModelBuilder& ModelBuilder::node(
    std::string_view text, const std::vector<std::pair<std::string, const ModelBuilder*>>& bodies) {
  onnx::NodeProto* node = impl_->proto.mutable_graph()->add_node();
  *node = parse_node(text);
  for (const auto& [name, body] : bodies) {
    onnx::AttributeProto* a = node->add_attribute();
    a->set_name(name);
    a->set_type(onnx::AttributeProto::GRAPH);
    *a->mutable_g() = body->impl().proto.graph();
    a->mutable_g()->set_name(name);
  }
  return *this;
}

ModelBuilder& ModelBuilder::constant(const std::string& output, const Tensor& value) {
  onnx::NodeProto* node = impl_->proto.mutable_graph()->add_node();
  node->set_op_type("Constant");
  node->add_output(output);
  onnx::AttributeProto* a = node->add_attribute();
  a->set_name("value");
  a->set_type(onnx::AttributeProto::TENSOR);
  set_tensor(a->mutable_t(), "", value);
  return *this;
}

ModelBuilder& ModelBuilder::function(std::string_view signature, const ModelBuilder& body,
                                     const std::vector<std::string>& attributes) {
  const onnx::NodeProto head = parse_node(signature);
  onnx::FunctionProto* function = impl_->proto.add_functions();
  function->set_name(head.op_type());
  function->set_domain(head.domain());
  *function->mutable_input() = head.input();
  *function->mutable_output() = head.output();
  *function->mutable_attribute_proto() = head.attribute();
  for (const std::string& name : attributes) function->add_attribute(name);
  *function->mutable_node() = body.impl().proto.graph().node();
  *function->mutable_opset_import() = body.impl().proto.opset_import();
  return *this;
}

std::string ModelBuilder::bytes() const {
  onnx::ModelProto proto = impl_->proto;
  if (proto.opset_import_size() == 0) {
    onnx::OperatorSetIdProto* import = proto.add_opset_import();
    import->set_domain("");
    import->set_version(17);
  }
  return proto.SerializeAsString();
}

Model ModelBuilder::model() const {
  const std::string text = bytes();
  return Model::parse(std::as_bytes(std::span(text.data(), text.size())));
}

Tensor tensor(const Shape& shape, const std::vector<float>& values) {
  Tensor t = Tensor::allocate(DataType::kFloat, shape);
  if (t.size() != static_cast<std::int64_t>(values.size()))
    throw std::logic_error("values do not fill the shape");
  std::copy(values.begin(), values.end(), t.mutable_floats().begin());
  return t;
}

Tensor tensor(const Shape& shape, const std::vector<std::int64_t>& values) {
  Tensor t = Tensor::allocate(DataType::kInt64, shape);
  if (t.size() != static_cast<std::int64_t>(values.size()))
    throw std::logic_error("values do not fill the shape");
  std::copy(values.begin(), values.end(), static_cast<std::int64_t*>(t.mutable_data()));
  return t;
}

}  // namespace bitsweep::graph::testing
