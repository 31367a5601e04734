#include "bitsweep/simulation.h"

#include <map>
#include <set>

#include "bitsweep/error.h"
#include "bitsweep/names.h"
#include "graph/macs.h"
#include "simulate/engine.h"
#include "simulate/network/feed_check.h"
#include "simulate/network/live_sites.h"
#include "simulate/observe/calibration_run.h"
#include "simulate/reuse.h"
#include "simulate/whole_runs.h"

namespace bitsweep {

struct Simulation::Tables {
  std::vector<std::string> tensor_names;
  std::vector<std::string> parameter_names;
  std::vector<std::string> activation_names;
  std::vector<std::string> input_quantizer_names;
  std::map<std::string, int, std::less<>> site_of;
};

Simulation::Simulation(Model model, SimulationOptions options)
    : engine_(std::make_unique<simulate::Engine>(std::move(model), std::move(options))),
      tables_(std::make_unique<Tables>()) {
  const graph::Graph& graph = engine_->network().graph();
  for (const graph::Site& site : engine_->network().placement().sites) {
    const std::string& name = graph.tensor(site.tensor).name;
    tables_->site_of.emplace(name, static_cast<int>(tables_->tensor_names.size()));
    tables_->tensor_names.push_back(name);
    (site.role == graph::TensorRole::kParameter ? tables_->parameter_names
                                                : tables_->activation_names)
        .push_back(name);
  }
  for (const graph::TensorId t : engine_->network().placement().input_quantizers) {
    tables_->input_quantizer_names.push_back(graph.tensor(t).name);
  }
}

Simulation::~Simulation() = default;
Simulation::Simulation(Simulation&&) noexcept = default;
Simulation& Simulation::operator=(Simulation&&) noexcept = default;

const Model& Simulation::model() const { return engine_->network().graph().model(); }
const SimulationOptions& Simulation::options() const { return engine_->network().options(); }
const std::vector<std::string>& Simulation::tensor_names() const { return tables_->tensor_names; }
const std::vector<std::string>& Simulation::parameter_names() const {
  return tables_->parameter_names;
}
const std::vector<std::string>& Simulation::activation_names() const {
  return tables_->activation_names;
}
const std::vector<std::string>& Simulation::input_quantizer_names() const {
  return tables_->input_quantizer_names;
}

int Simulation::site_index(const std::string& tensor) const {
  const auto it = tables_->site_of.find(tensor);
  if (it == tables_->site_of.end()) {
    throw Error(
        ErrorCode::kNotFound, "simulate", "tensor \"" + tensor + "\" has no quantizer",
        did_you_mean(tensor, tensor_names()) + "see describe() for the tensors that have one");
  }
  return it->second;
}

std::shared_ptr<Quantizer> Simulation::quantizer(const std::string& tensor) const {
  return engine_->network().quantizer(site_index(tensor));
}

void Simulation::set_quantizer(const std::string& tensor, std::shared_ptr<Quantizer> quantizer) {
  if (quantizer == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, "simulate",
                "no quantizer was given for \"" + tensor + "\"", "disable the present one instead");
  }
  engine_->network().set_quantizer(site_index(tensor), std::move(quantizer));
}

void Simulation::apply_exception_rules() { simulate::apply_exception_rules(engine_->network()); }

std::string Simulation::effective_tensor(const std::string& tensor) const {
  const graph::Graph& graph = engine_->network().graph();
  const graph::TensorId id = graph.find(tensor);
  if (id == graph::kAbsent) {
    throw Error(ErrorCode::kNotFound, "simulate", "the model has no tensor \"" + tensor + "\"",
                "see describe() for its tensors");
  }
  const std::vector<graph::Site> sites = simulate::live_sites(engine_->network());
  const int site = graph::effective_site(graph, sites, id);
  return site < 0 ? std::string() : graph.tensor(sites[static_cast<std::size_t>(site)].tensor).name;
}

std::vector<OperatorInfo> Simulation::operators() const {
  const graph::Graph& graph = engine_->network().graph();
  const auto names = [&](const std::vector<graph::TensorId>& ids) {
    std::vector<std::string> result;
    for (const graph::TensorId t : ids) {
      if (t != graph::kAbsent) result.push_back(graph.tensor(t).name);
    }
    return result;
  };
  std::vector<OperatorInfo> result;
  for (const graph::Operator& op : engine_->network().placement().operators) {
    OperatorInfo info;
    info.name = op.name;
    info.type = op.type;
    for (const int node : op.nodes) info.nodes.push_back(graph.node(node).name);
    info.inputs = names(op.inputs);
    info.outputs = names(op.outputs);
    for (const auto& [tensor, kind] : op.parameters)
      info.parameters.emplace_back(graph.tensor(tensor).name, kind);
    if (engine_->shapes().find()) {
      for (const int node : op.nodes) info.macs += graph::macs_of(graph, node);
    }
    result.push_back(std::move(info));
  }
  return result;
}

namespace {

std::string format_text(const Quantizer& q) {
  std::string text = q.format().name();
  if (!q.format().is_integer()) return text;
  text +=
      q.symmetric() ? (q.strict_symmetric() ? " strict-symmetric" : " symmetric") : " asymmetric";
  if (q.symmetric() && q.unsigned_symmetric()) text += " unsigned";
  const Granularity& g = q.granularity();
  if (g.blockwise()) {
    text += " blocks of " + std::to_string(g.block_size) + " along axis " +
            std::to_string(g.block_axis);
    if (q.lpbq()) text += " with " + std::to_string(q.lpbq()->scale_bits) + "-bit scales (LPBQ)";
  } else if (!g.per_tensor()) {
    text += " per-channel(" + std::to_string(g.channel_axis) + ")";
  }
  return text;
}

}  // namespace

std::vector<TensorReport> Simulation::describe() const {
  const simulate::Network& network = engine_->network();
  const graph::Graph& graph = network.graph();
  const graph::Placement& placement = network.placement();
  std::vector<TensorReport> rows;
  std::map<const Quantizer*, std::string> first;
  for (std::size_t s = 0; s < placement.sites.size(); ++s) {
    const graph::Site& site = placement.sites[s];
    const Quantizer& q = *network.quantizer(static_cast<int>(s));
    TensorReport row;
    row.tensor = graph.tensor(site.tensor).name;
    row.role = site.role == graph::TensorRole::kParameter ? "parameter" : "activation";
    row.reason = network.reason(static_cast<int>(s));
    const auto [it, is_first] = first.emplace(&q, row.tensor);
    if (!q.enabled()) {
      row.status = "off";
    } else if (is_first) {
      row.status = "quantized";
      row.format = format_text(q);
    } else {
      row.status = "tied";
      row.format = format_text(q);
      row.tied_to = it->second;
    }
    rows.push_back(std::move(row));
  }
  for (const graph::SkippedTensor& skipped : placement.skipped) {
    rows.push_back({.tensor = skipped.name,
                    .status = "float",
                    .role = "",
                    .format = "",
                    .tied_to = "",
                    .reason = skipped.reason});
  }
  return rows;
}

void Simulation::check_feed(const Feed& feed) const { simulate::check_feed(model(), feed); }

std::vector<Tensor> Simulation::run(const Feed& feed) {
  check_feed(feed);
  if (calibration_ != nullptr) return calibration_->observe(feed);
  const simulate::State state = engine_->network().enabled_state();
  if (reuse_ != nullptr) {
    engine_->shapes().find_or_observe(feed);
    // The float pass that is shared would cost more than it saves.
    if (!engine_->shapes().is_small_model()) return reuse_->run(state, feed);
  }
  return engine_->whole_runs().run(state, feed);
}

std::vector<Tensor> Simulation::run_float(const Feed& feed) {
  check_feed(feed);
  return engine_->whole_runs().run({}, feed);
}

std::int64_t Simulation::calibrate(SampleSource& samples,
                                   const std::function<bool(std::int64_t)>& on_sample) {
  begin_calibration();
  try {
    calibration_->observe_all(samples, engine_->observation().num_observers(), on_sample);
    const std::int64_t num_samples = calibration_->num_samples();
    finish_calibration();
    return num_samples;
  } catch (...) {
    abort_calibration();
    throw;
  }
}

void Simulation::begin_calibration() {
  if (calibration_ != nullptr) {
    throw Error(ErrorCode::kNotReady, "calibrate", "a calibration is running already",
                "finish or abort it first");
  }
  calibration_ = std::make_unique<simulate::CalibrationRun>(engine_->network(), engine_->shapes(),
                                                            engine_->observation());
}

void Simulation::finish_calibration() {
  if (calibration_ == nullptr) {
    throw Error(ErrorCode::kNotReady, "calibrate", "no calibration is running", "begin one first");
  }
  try {
    calibration_->finish();
  } catch (...) {
    abort_calibration();
    throw;
  }
  non_finite_counts_ = calibration_->non_finite_counts();
  calibration_.reset();
}

void Simulation::abort_calibration() {
  if (calibration_ == nullptr) return;
  calibration_->abort();
  calibration_.reset();
}

bool Simulation::calibrating() const { return calibration_ != nullptr; }

std::vector<std::pair<std::string, std::int64_t>> Simulation::non_finite_counts() const {
  return non_finite_counts_;
}

void Simulation::begin_reuse(const std::vector<std::vector<std::string>>& states,
                             std::int64_t max_memory_bytes) {
  std::vector<simulate::State> planned;
  for (const std::vector<std::string>& names : states) {
    std::vector<const Quantizer*> quantizers;
    for (const std::string& name : names) quantizers.push_back(quantizer(name).get());
    planned.push_back(engine_->network().sites_of(quantizers));
  }
  reuse_ = std::make_unique<simulate::Reuse>(*engine_, std::move(planned), max_memory_bytes);
}

void Simulation::end_reuse() { reuse_.reset(); }

}  // namespace bitsweep
