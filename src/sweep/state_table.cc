#include "sweep/state_table.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "bitsweep/error.h"
#include "simulate/engine.h"

namespace bitsweep::sweeping {

using simulate::State;

StateTable make_states(const Simulation& simulation, const std::vector<SweepGroup>& groups,
                       SweepMode mode) {
  if (groups.empty()) {
    throw Error(ErrorCode::kNotReady, "sweep", "no quantizer is enabled",
                "enable quantizers, or give groups of them");
  }
  const simulate::Network& network = simulation.engine().network();
  const State enabled = network.enabled_state();
  StateTable table;
  std::map<State, std::size_t> known;
  State before;  // of a cumulative sweep
  for (const SweepGroup& group : groups) {
    std::vector<const Quantizer*> quantizers;
    for (const std::string& tensor : group.tensors)
      quantizers.push_back(simulation.quantizer(tensor).get());
    const State own = network.sites_of(quantizers);
    State state;
    switch (mode) {
      case SweepMode::kEnableOne:
        state = own;
        break;
      case SweepMode::kDisableOne:
        std::set_difference(enabled.begin(), enabled.end(), own.begin(), own.end(),
                            std::back_inserter(state));
        break;
      case SweepMode::kCumulative:
        std::set_union(before.begin(), before.end(), own.begin(), own.end(),
                       std::back_inserter(state));
        before = state;
        break;
    }
    network.check_ready(state);
    const auto [it, is_new] = known.emplace(state, table.states.size());
    if (is_new) table.states.push_back(std::move(state));
    table.state_of_group.push_back(it->second);
    table.names.push_back(group.name);
  }
  return table;
}

State union_of(const std::vector<State>& states) {
  State all;
  for (const State& state : states) {
    State joined;
    std::set_union(all.begin(), all.end(), state.begin(), state.end(), std::back_inserter(joined));
    all = std::move(joined);
  }
  return all;
}

}  // namespace bitsweep::sweeping
