#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/placement.h"
#include "graph/testing/model_builder.h"

namespace bitsweep::graph::testing {

struct PlaceSettings {
  std::string rules = "per_tensor";  ///< alias, or JSON text when it begins with "{"
  Format parameters{};
  Format activations{};
  std::map<std::string, DataType> types{};  ///< tensors that are not float32
};

/// A model with its placement; tensors without a declared type are float32.
class Placed {
 public:
  explicit Placed(const ModelBuilder& model, const PlaceSettings& settings = {});

  const Placement& placement() const { return placement_; }
  const Graph& graph() const { return graph_; }
  std::string name(TensorId tensor) const { return graph_.tensor(tensor).name; }

  /// The site of a tensor; a test failure when there is none.
  const Site& site(const std::string& tensor) const;
  bool has_site(const std::string& tensor) const;
  bool enabled(const std::string& tensor) const { return site(tensor).enabled; }
  /// Name of the tensor that shares its quantizer; empty when none.
  std::string tied_to(const std::string& tensor) const;
  /// Why a tensor has no site; empty when it is not listed.
  std::string skipped(const std::string& tensor) const;

  std::vector<std::string> names() const;  ///< of all sites, in order
  std::vector<std::string> input_quantizers() const;
  std::vector<std::string> operator_types() const;

 private:
  Graph graph_;
  Placement placement_;
};

}  // namespace bitsweep::graph::testing
