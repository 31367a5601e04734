#include "simulate/network/network.h"

#include <set>
#include <utility>

#include "base/usable_cpus.h"
#include "bitsweep/error.h"
#include "simulate/network/quantizer_factory.h"
#include "simulate/runtime/infer_types.h"
#include "simulate/runtime/packed_weights.h"

namespace bitsweep::simulate {

Network::Network(Model model, SimulationOptions options)
    : options_(std::move(options)),
      num_threads_(options_.num_threads > 0 ? options_.num_threads : usable_cpus()),
      graph_(std::move(model)),
      order_(graph_),
      packed_weights_(std::make_shared<PackedWeights>()) {
  for (const std::string& provider : options_.providers) {
    if (provider != "CPUExecutionProvider") {
      throw Error(ErrorCode::kInvalidArgument, "simulate",
                  "provider \"" + provider + "\" is not supported",
                  "use CPUExecutionProvider, the only one of this version");
    }
  }
  infer_types(graph_, session_options(1));
  placement_ = graph::place_quantizers(graph_, {.rules = options_.rules,
                                                .parameter_format = options_.parameter_format,
                                                .activation_format = options_.activation_format});
  quantizers_ = make_quantizers(graph_, placement_, options_.scheme);
}

void Network::set_quantizer(int site, std::shared_ptr<Quantizer> quantizer) {
  quantizers_[static_cast<std::size_t>(site)] = std::move(quantizer);
}

const std::string& Network::reason(int site) const {
  const auto note = notes_.find(site);
  return note != notes_.end() ? note->second : this->site(site).reason;
}

State Network::enabled_state() const {
  State state;
  for (int s = 0; s < num_sites(); ++s) {
    if (quantizer(s)->enabled()) state.push_back(s);
  }
  return state;
}

State Network::sites_of(const std::vector<const Quantizer*>& quantizers) const {
  const std::set<const Quantizer*> wanted(quantizers.begin(), quantizers.end());
  State state;
  for (int s = 0; s < num_sites(); ++s) {
    if (wanted.count(quantizer(s).get()) > 0) state.push_back(s);
  }
  return state;
}

void Network::check_ready(const State& state) const {
  for (const int s : state) {
    if (quantizer(s)->initialized()) continue;
    throw Error(ErrorCode::kNotReady, "simulate",
                "the quantizer of \"" + graph_.tensor(site(s).tensor).name +
                    "\" is enabled but has no encoding",
                "calibrate first (compute_encodings), or disable it");
  }
}

RunState Network::run_state(const State& state) const {
  RunState run;
  run.sites.resize(quantizers_.size());
  for (const int s : state) {
    if (is_static(s)) continue;
    SiteAction& action = run.sites[static_cast<std::size_t>(s)];
    action.mode = SiteAction::Mode::kQuantize;
    action.plan = quantizer(s)->plan();
  }
  return run;
}

SessionOptions Network::session_options(int threads) const {
  SessionOptions o;
  o.num_threads = threads;
  o.pool_threads = num_threads_;
  o.packed_weights = packed_weights_;
  o.ort_library = options_.ort_library;
  o.custom_op_libraries = options_.custom_op_libraries;
  return o;
}

}  // namespace bitsweep::simulate
