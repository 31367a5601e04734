#include "simulate/network/shapes.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "graph/file/mapped_file.h"
#include "graph/macs.h"
#include "simulate/runtime/infer_types.h"

namespace bitsweep::simulate {

using graph::TensorId;

void Shapes::observe(const Feed& feed) {
  const graph::Graph& graph = network_.graph();
  graph::SubgraphSpec spec = every_tensor(graph);
  // Sequences and strings have no shape to see.
  std::erase_if(spec.outputs, [&](TensorId t) {
    return graph.tensor(t).type == DataType::kUndefined ||
           graph.tensor(t).type == DataType::kString;
  });
  const TensorValues values = values_of(graph, feed);
  for (const auto& [t, value] : values) {
    if (graph.tensor(t).type != DataType::kUndefined) network_.set_shape(t, value.shape());
  }
  if (!spec.outputs.empty()) {
    spec.static_shapes = true;
    const std::vector<TensorId> unknown = infer(spec);
    if (!unknown.empty()) run(std::move(spec), unknown, values);
  }
  for (TensorId t = 0; t < static_cast<TensorId>(graph.tensors().size()); ++t)
    graph::give_back_pages(graph.static_value(t));
  sum_costs();
  known_ = true;
}

// What the runtime infers from the shapes of the feed needs no run. Gives the tensors that do.
std::vector<TensorId> Shapes::infer(const graph::SubgraphSpec& spec) {
  SessionOptions o = network_.session_options(network_.num_threads());
  o.optimization = Optimization::kNone;
  const Session session(graph::build_subgraph(network_.graph(), spec), o);
  std::vector<TensorId> unknown;
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    Shape shape;
    const std::optional<std::vector<Dimension>> inferred = session.output_shape(i);
    if (inferred) {
      for (const Dimension& dimension : *inferred) shape.push_back(dimension.size);
    }
    const bool is_known = inferred && std::all_of(shape.begin(), shape.end(),
                                                  [](std::int64_t size) { return size >= 0; });
    if (is_known) {
      network_.set_shape(spec.outputs[i], std::move(shape));
    } else {
      unknown.push_back(spec.outputs[i]);
    }
  }
  return unknown;
}

// Shapes only: with the tensors as outputs, the run would hold them all, and the arena for good.
void Shapes::run(graph::SubgraphSpec spec, const std::vector<TensorId>& tensors,
                 const TensorValues& values) {
  spec.outputs.clear();
  spec.shapes_of = tensors;
  SessionOptions o = network_.session_options(network_.num_threads());
  o.optimization = Optimization::kNone;
  const Session session(graph::build_subgraph(network_.graph(), spec), o);
  std::vector<Tensor> inputs;
  for (const TensorId t : spec.inputs) inputs.push_back(values.at(t));
  const std::vector<Tensor> shapes = session.run(inputs);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto* begin = static_cast<const std::int64_t*>(shapes[i].data());
    network_.set_shape(tensors[i], Shape(begin, begin + shapes[i].size()));
  }
}

void Shapes::sum_costs() {
  cost_before_.assign(1, 0.0);
  for (const int node : network_.order().nodes())
    cost_before_.push_back(cost_before_.back() + graph::cost_of(network_.graph(), node));
  const double total = cost_before_.back();
  float_pass_ns_ = total;
  if (total > 0.0) {
    for (double& c : cost_before_) c /= total;
  } else {
    cost_before_.clear();
  }
}

void Shapes::keep_sample(const Feed& feed) {
  const std::lock_guard lock(mutex_);
  if (known_ || !sample_.empty()) return;
  for (const auto& [name, value] : feed) {
    Tensor& kept = sample_[name];
    kept = value;
    if (value.size_bytes() == 0) continue;  // an empty sequence, too
    kept = Tensor::allocate(value.type(), value.shape());
    std::memcpy(kept.mutable_data(), value.data(), value.size_bytes());
  }
}

bool Shapes::find() {
  const std::lock_guard lock(mutex_);
  const Feed sample = std::exchange(sample_, {});
  if (!known_ && !sample.empty()) observe(sample);
  return known_;
}

double Shapes::cost(int begin, int end) const {
  if (cost_before_.empty()) {
    const int size = network_.order().size();
    return size == 0 ? 0.0 : static_cast<double>(end - begin) / size;
  }
  return cost_before_[static_cast<std::size_t>(end)] -
         cost_before_[static_cast<std::size_t>(begin)];
}

}  // namespace bitsweep::simulate
