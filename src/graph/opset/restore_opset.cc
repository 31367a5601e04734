#include "graph/opset/restore_opset.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <system_error>

#include "graph/bodies/bodies.h"

namespace bitsweep::graph {
namespace {

constexpr const char* kNote = "bitsweep.source_opset";

// Older forms have other names and attributes, but the same kernels.
constexpr std::int64_t kOldestRestored = 13;

std::optional<std::int64_t> take_note(onnx::ModelProto& model) {
  auto* metadata = model.mutable_metadata_props();
  const auto note = std::find_if(metadata->begin(), metadata->end(),
                                 [](const auto& entry) { return entry.key() == kNote; });
  if (note == metadata->end()) return {};
  const std::string text = note->value();
  metadata->erase(note);
  std::int64_t source = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), source);
  if (error != std::errc() || end != text.data() + text.size() || source < kOldestOpset) return {};
  return source;
}

class Restorer {
 public:
  Restorer(onnx::GraphProto& graph, std::int64_t source, std::int64_t current,
           const Constants& constants)
      : graph_(graph), constants_(constants), current_(current), target_(source) {}

  std::int64_t run() {
    raise_target(graph_);
    if (target_ >= current_) return current_;
    undo(&graph_);
    drop_unread();
    return target_;
  }

 private:
  template <typename Node, typename Visit>
  static void for_each_step(Node& node, std::int64_t above, std::int64_t up_to, Visit&& visit) {
    if (!node.domain().empty() && node.domain() != "ai.onnx") return;
    for (std::size_t i = opset_steps().size(); i-- > 0;) {
      const OpsetStep& step = opset_steps()[i];
      if (above < step.since && step.since <= up_to && node.op_type() == step.type) visit(step);
    }
  }

  // A node without a way back keeps the model where it is.
  void raise_target(const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      for_each_body(node, [&](const onnx::GraphProto& body) { raise_target(body); });
      for_each_step(node, target_, current_, [&](const OpsetStep& step) {
        onnx::NodeProto trial = node;
        if (step.undo == nullptr || !step.undo(trial, constants_))
          target_ = std::max(target_, step.since);
      });
    }
  }

  void undo(onnx::GraphProto* graph) {
    for (onnx::NodeProto& node : *graph->mutable_node()) {
      for_each_body(&node, [&](onnx::GraphProto* body) { undo(body); });
      const std::set<std::string> before(node.input().begin(), node.input().end());
      for_each_step(node, target_, current_,
                    [&](const OpsetStep& step) { step.undo(node, constants_); });
      released_.insert(before.begin(), before.end());
      for (const std::string& input : node.input()) released_.erase(input);
    }
  }

  void keep_what_is_read(const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& input : node.input()) released_.erase(input);
      for_each_body(node, [&](const onnx::GraphProto& body) { keep_what_is_read(body); });
    }
    for (const onnx::ValueInfoProto& output : graph.output()) released_.erase(output.name());
  }

  void drop_unread() {
    keep_what_is_read(graph_);
    auto* initializers = graph_.mutable_initializer();
    initializers->erase(std::remove_if(initializers->begin(), initializers->end(),
                                       [&](const onnx::TensorProto& tensor) {
                                         return released_.count(tensor.name()) > 0;
                                       }),
                        initializers->end());
  }

  onnx::GraphProto& graph_;
  const Constants& constants_;
  std::int64_t current_;
  std::int64_t target_;
  std::set<std::string> released_;  // inputs that an undone step no longer reads
};

}  // namespace

void note_source_opset(onnx::ModelProto& model, std::int64_t source) {
  onnx::StringStringEntryProto* entry = model.add_metadata_props();
  entry->set_key(kNote);
  entry->set_value(std::to_string(source));
}

void restore_opset(onnx::ModelProto& model, const Constants& constants) {
  const std::optional<std::int64_t> source = take_note(model);
  if (!source) return;
  for (onnx::OperatorSetIdProto& import : *model.mutable_opset_import()) {
    if (!import.domain().empty() && import.domain() != "ai.onnx") continue;
    if (import.version() > kNewestOpset) return;
    import.set_version(Restorer(*model.mutable_graph(), std::max(*source, kOldestRestored),
                                import.version(), constants)
                           .run());
  }
}

}  // namespace bitsweep::graph
