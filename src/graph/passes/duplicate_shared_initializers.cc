#include "bitsweep/passes.h"
#include "graph/passes/model_edit.h"

namespace bitsweep {
namespace {

bool has_encoding(std::int32_t type) {
  return is_quantizable_type(static_cast<DataType>(type)) ||
         static_cast<DataType>(type) == DataType::kDouble;
}

}  // namespace

DuplicateInitializersResult duplicate_shared_initializers(const Model& model) {
  graph::ModelEdit edit(model);
  std::vector<DuplicatedInitializer> copies;
  for (const std::string& name : edit.initializer_names()) {
    if (!has_encoding(edit.static_message(name)->data_type())) continue;
    const std::vector<graph::ModelEdit::Use> uses = edit.uses(name);
    // Bodies and graph outputs go by the name, so then the original is theirs and every input gets
    // a copy.
    bool original_taken = edit.is_output(name);
    for (const auto& use : uses) original_taken = original_taken || use.input < 0;
    for (const auto& use : uses) {
      if (use.input < 0) continue;
      if (!original_taken) {
        original_taken = true;
        continue;
      }
      const std::string copy = edit.copy_initializer(name, name + "_of_" + edit.label(use.node));
      edit.set_input(use.node, use.input, copy);
      copies.push_back({.initializer = name, .copy = copy, .node = edit.label(use.node)});
    }
  }
  return {edit.finish(), std::move(copies)};
}

}  // namespace bitsweep
