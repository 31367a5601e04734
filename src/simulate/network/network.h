#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bitsweep/simulation.h"
#include "graph/graph.h"
#include "graph/placement.h"
#include "simulate/network/node_order.h"
#include "simulate/runtime/run_state.h"
#include "simulate/runtime/session.h"

namespace bitsweep::simulate {

/// What is quantized in one evaluation: indices of active sites, ascending. Every site uses its
/// quantizer's encoding.
using State = std::vector<int>;

/// The model with a quantizer on every site of its placement. A site is an index into
/// graph::Placement::sites.
class Network {
 public:
  /// @throws Error(kInvalidArgument) for a provider that is not there, or what the graph or the
  /// runtime finds wrong with the model.
  Network(Model model, SimulationOptions options);

  const graph::Graph& graph() const { return graph_; }
  const graph::Placement& placement() const { return placement_; }
  const NodeOrder& order() const { return order_; }
  const SimulationOptions& options() const { return options_; }
  int num_threads() const { return num_threads_; }
  /// Of a run with this sample; see Shapes.
  void set_shape(graph::TensorId t, Shape shape) { graph_.set_shape(t, std::move(shape)); }

  int num_sites() const { return static_cast<int>(placement_.sites.size()); }
  const graph::Site& site(int index) const {
    return placement_.sites[static_cast<std::size_t>(index)];
  }
  bool is_static(int site) const { return graph_.tensor(this->site(site).tensor).is_static; }
  const std::shared_ptr<Quantizer>& quantizer(int site) const {
    return quantizers_[static_cast<std::size_t>(site)];
  }
  void set_quantizer(int site, std::shared_ptr<Quantizer> quantizer);

  /// Why a site is as it is: what a calibration found, else the rule that placed it.
  const std::string& reason(int site) const;
  void set_note(int site, std::string note) { notes_[site] = std::move(note); }
  void clear_note(int site) { notes_.erase(site); }

  /// Sites whose quantizer is enabled now.
  State enabled_state() const;
  /// Sites that use one of these quantizers.
  State sites_of(const std::vector<const Quantizer*>& quantizers) const;
  /// @throws Error(kNotReady) naming the first site of the state without an encoding.
  void check_ready(const State& state) const;
  /// What quantizer nodes do in a run of the state. Constants have none: sessions hold their
  /// quantized values.
  RunState run_state(const State& state) const;

  /// Of a session of the network or a part of it; all of them share packed weights.
  SessionOptions session_options(int threads) const;

 private:
  SimulationOptions options_;
  int num_threads_ = 1;
  graph::Graph graph_;
  NodeOrder order_;
  std::shared_ptr<PackedWeights> packed_weights_;
  graph::Placement placement_;
  std::vector<std::shared_ptr<Quantizer>> quantizers_;  // by site
  std::map<int, std::string> notes_;                    // by site
};

}  // namespace bitsweep::simulate
