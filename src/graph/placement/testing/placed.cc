#include "graph/placement/testing/placed.h"

#include <gtest/gtest.h>

#include "graph/placement/draft.h"

namespace bitsweep::graph::testing {
namespace {

Placement place(Graph& graph, const PlaceSettings& settings) {
  for (TensorId id = 0; id < static_cast<TensorId>(graph.tensors().size()); ++id) {
    if (graph.tensor(id).type == DataType::kUndefined) graph.set_type(id, DataType::kFloat);
  }
  for (const auto& [name, type] : settings.types) graph.set_type(graph.find(name), type);
  const PlacementOptions options{.rules = settings.rules,
                                 .parameter_format = settings.parameters,
                                 .activation_format = settings.activations};
  if (settings.rules.front() != '{') return place_quantizers(graph, options);
  return place_quantizers(graph, parse_rules(settings.rules, "test"), options);
}

}  // namespace

Placed::Placed(const ModelBuilder& model, const PlaceSettings& settings)
    : graph_(model.model()), placement_(place(graph_, settings)) {}

const Site& Placed::site(const std::string& tensor) const {
  static const Site kNone;
  for (const Site& site : placement_.sites) {
    if (name(site.tensor) == tensor) return site;
  }
  ADD_FAILURE() << "no site on \"" << tensor << "\"";
  return kNone;
}

bool Placed::has_site(const std::string& tensor) const {
  const std::vector<std::string> all = names();
  return std::find(all.begin(), all.end(), tensor) != all.end();
}

std::string Placed::tied_to(const std::string& tensor) const {
  const int owner = site(tensor).tied_to;
  return owner < 0 ? "" : name(placement_.sites[owner].tensor);
}

std::string Placed::skipped(const std::string& tensor) const {
  for (const SkippedTensor& skipped : placement_.skipped) {
    if (skipped.name == tensor) return skipped.reason;
  }
  return "";
}

std::vector<std::string> Placed::names() const {
  std::vector<std::string> names;
  for (const Site& site : placement_.sites) names.push_back(name(site.tensor));
  return names;
}

std::vector<std::string> Placed::input_quantizers() const {
  std::vector<std::string> names;
  for (const TensorId tensor : placement_.input_quantizers) names.push_back(name(tensor));
  return names;
}

std::vector<std::string> Placed::operator_types() const {
  std::vector<std::string> types;
  for (const Operator& op : placement_.operators) types.push_back(op.type);
  return types;
}

}  // namespace bitsweep::graph::testing
