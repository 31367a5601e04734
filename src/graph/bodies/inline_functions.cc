#include "graph/bodies/inline_functions.h"

#include <fmt/format.h>

#include <algorithm>

#include "bitsweep/error.h"

namespace bitsweep::graph {
namespace {

std::string plain_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string key(const std::string& domain, const std::string& name, const std::string& overload) {
  return plain_domain(domain) + "::" + name + "::" + overload;
}

using Attributes = std::map<std::string, onnx::AttributeProto>;

/// Gives attributes that refer to an attribute of the call its value; without a value they fall
/// away.
void bind_attributes(onnx::NodeProto* node, const Attributes& values) {
  auto* attributes = node->mutable_attribute();
  for (int i = attributes->size() - 1; i >= 0; --i) {
    onnx::AttributeProto* attribute = attributes->Mutable(i);
    if (attribute->ref_attr_name().empty()) continue;
    const auto value = values.find(attribute->ref_attr_name());
    if (value == values.end()) {
      attributes->DeleteSubrange(i, 1);
      continue;
    }
    const std::string name = attribute->name();
    *attribute = value->second;
    attribute->set_name(name);
  }
  for_each_body(node, [&](onnx::GraphProto* body) {
    for (onnx::NodeProto& inner : *body->mutable_node()) bind_attributes(&inner, values);
  });
}

}  // namespace

FunctionInliner::FunctionInliner(const onnx::ModelProto& model, UniqueNames* names)
    : names_(names) {
  for (const onnx::OperatorSetIdProto& import : model.opset_import()) {
    imports_[plain_domain(import.domain())] = import.version();
  }
  for (const onnx::FunctionProto& function : model.functions()) {
    const bool other_version =
        std::any_of(function.opset_import().begin(), function.opset_import().end(),
                    [&](const onnx::OperatorSetIdProto& import) {
                      const auto have = imports_.find(plain_domain(import.domain()));
                      return have != imports_.end() && have->second != import.version();
                    });
    if (other_version) {
      kept_.push_back(&function);
    } else {
      functions_[key(function.domain(), function.name(), function.overload())] = &function;
    }
  }
}

const onnx::FunctionProto* FunctionInliner::find(const onnx::NodeProto& node) const {
  const auto found = functions_.find(key(node.domain(), node.op_type(), node.overload()));
  return found == functions_.end() ? nullptr : found->second;
}

bool FunctionInliner::applies_to(const onnx::NodeProto& node) const {
  if (functions_.empty()) return false;
  if (find(node) != nullptr) return true;
  bool inside = false;
  for_each_body(node, [&](const onnx::GraphProto& body) {
    inside = inside || std::any_of(body.node().begin(), body.node().end(),
                                   [&](const onnx::NodeProto& inner) { return applies_to(inner); });
  });
  return inside;
}

std::vector<onnx::NodeProto> FunctionInliner::expand(const onnx::NodeProto& node) {
  std::vector<onnx::NodeProto> nodes;
  expand_into(node, &nodes);
  return nodes;
}

void FunctionInliner::expand_into(onnx::NodeProto node, std::vector<onnx::NodeProto>* out) {
  if (const onnx::FunctionProto* function = find(node)) {
    expand_call(node, *function, out);
    return;
  }
  for_each_body(&node, [&](onnx::GraphProto* body) {
    std::vector<onnx::NodeProto> nodes;
    for (onnx::NodeProto& inner : *body->mutable_node()) expand_into(std::move(inner), &nodes);
    body->clear_node();
    for (onnx::NodeProto& inner : nodes) *body->add_node() = std::move(inner);
  });
  out->push_back(std::move(node));
}

void FunctionInliner::expand_call(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                                  std::vector<onnx::NodeProto>* out) {
  const std::string id = key(function.domain(), function.name(), function.overload());
  if (std::find(calling_.begin(), calling_.end(), id) != calling_.end()) {
    throw Error(ErrorCode::kInvalidModel, "model",
                fmt::format("function \"{}\" of domain \"{}\" calls itself", function.name(),
                            function.domain()),
                "remove the recursion: ONNX functions can't be recursive");
  }
  calling_.push_back(id);
  inlined_.insert(function.domain() + "::" + function.name());
  for (const onnx::OperatorSetIdProto& import : function.opset_import()) {
    imports_.emplace(plain_domain(import.domain()), import.version());
  }

  Attributes attributes;
  for (const onnx::AttributeProto& value : function.attribute_proto())
    attributes[value.name()] = value;
  for (const onnx::AttributeProto& value : call.attribute()) attributes[value.name()] = value;

  const std::string prefix = (call.name().empty() ? function.name() : call.name()) + "/";
  std::map<std::string, std::string> tensors;
  for (int i = 0; i < function.input_size(); ++i) {
    tensors[function.input(i)] = i < call.input_size() ? call.input(i) : std::string();
  }
  // An output that the function merely passes on, or gives twice, needs a node of its own.
  std::vector<std::pair<std::string, std::string>> passed;
  for (int i = 0; i < function.output_size() && i < call.output_size(); ++i) {
    if (call.output(i).empty()) continue;
    if (!tensors.emplace(function.output(i), call.output(i)).second)
      passed.emplace_back(function.output(i), call.output(i));
  }
  const auto rename = [&](const std::string& name) {
    const auto known = tensors.find(name);
    if (known != tensors.end()) return known->second;
    return tensors[name] = names_->make(prefix + name);
  };
  for (const onnx::NodeProto& inner : function.node()) {
    onnx::NodeProto node = inner;
    bind_attributes(&node, attributes);
    rename_tensors(&node, rename);
    node.set_name(names_->make(prefix + (node.name().empty() ? node.op_type() : node.name())));
    expand_into(std::move(node), out);
  }
  for (const auto& [from, to] : passed) {
    onnx::NodeProto node;
    node.set_op_type("Identity");
    node.set_name(names_->make(prefix + "Identity"));
    node.add_input(rename(from));
    node.add_output(to);
    out->push_back(std::move(node));
  }
  calling_.pop_back();
}

}  // namespace bitsweep::graph
