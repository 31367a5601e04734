#pragma once

#include <string>
#include <vector>

#include "bitsweep/model.h"
#include "graph/graph.h"
#include "graph/testing/model_builder.h"

namespace bitsweep::graph::testing {

/// A builder with a batch norm's parameters named <name>.gamma and so on, and the node "out =
/// BN(in)" called <name>.
inline void add_batch_norm(ModelBuilder* m, const std::string& name, const std::string& out,
                           const std::string& in, std::int64_t channels,
                           const std::string& attributes = "") {
  std::vector<float> values[4];
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto x = static_cast<float>(c);
    values[0].push_back(1.0F + 0.5F * x);
    values[1].push_back(0.25F * x - 0.5F);
    values[2].push_back(0.125F * x + 0.25F);
    values[3].push_back(0.5F + x);
  }
  const char* suffixes[] = {".gamma", ".beta", ".mean", ".var"};
  std::string text = out + " = BatchNormalization(" + in;
  for (int k = 0; k < 4; ++k) {
    m->floats(name + suffixes[k], {channels}, values[k]);
    text += ", " + name + suffixes[k];
  }
  m->node(text + ") {name: \"" + name + "\"" + (attributes.empty() ? "" : ", " + attributes) + "}");
}

inline std::vector<std::string> op_types(const Model& model) {
  const Graph graph(model);
  std::vector<std::string> types;
  for (const Node& node : graph.nodes()) types.push_back(node.op_type);
  return types;
}

inline std::vector<float> values_of(const Model& model, const std::string& tensor) {
  const Graph graph(model);
  const Tensor value = graph.static_value(graph.find(tensor)).to_float();
  return {value.floats().begin(), value.floats().end()};
}

}  // namespace bitsweep::graph::testing
