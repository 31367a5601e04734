#include "simulate/neighbour_runs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/cuts.h"
#include "simulate/whole_runs.h"

namespace bitsweep::simulate {

using graph::TensorId;

namespace {

// More segments keep more, but each cut takes about two per cent of a pass.
constexpr int kNumSegments = 6;
// Runs of a kind are made both ways until so many values came out the same, or so often. What is
// computed in another order gives one value again by chance, but hardly many.
constexpr std::int64_t kEnoughValues = 64;
constexpr int kMaxChecks = 8;

}  // namespace

bool NeighbourRuns::Kind::is_known() const {
  return !repeats_whole_runs || num_values >= kEnoughValues || num_checks == kMaxChecks;
}

void NeighbourRuns::choose_cuts() {
  const Network& network = engine_.network();
  const int size = network.order().size();
  if (!std::ranges::all_of(network.graph().outputs(),
                           [&](TensorId t) { return network.order().is_dynamic(t); }))
    return;
  std::vector<int> possible;
  for (const graph::CutCandidate& cut : graph::cut_candidates(network.graph())) {
    if (cut.clean && cut.position > 0 && cut.position < size &&
        can_be_handed_on(network.graph(), cut.live))
      possible.push_back(cut.position);
  }
  for (int i = 1; i < kNumSegments && !possible.empty(); ++i) {
    const double wanted = static_cast<double>(i) / kNumSegments;
    const auto distance = [&](int p) { return std::abs(engine_.shapes().cost(0, p) - wanted); };
    const int nearest = *std::ranges::min_element(possible, {}, distance);
    if (cuts_.empty() || cuts_.back() < nearest) cuts_.push_back(nearest);
  }
}

std::vector<Tensor> NeighbourRuns::run(const State& state, const Feed& feed, std::size_t sample) {
  engine_.network().check_ready(state);
  engine_.shapes().find_or_observe(feed);
  if (!std::exchange(has_cuts_, true) && !engine_.shapes().is_small_model()) choose_cuts();
  if (cuts_.empty()) return engine_.whole_runs().run(state, feed);
  const Optimization optimization = engine_.whole_runs().optimization_of(state, feed);
  Kind& kind = kinds_[{optimization, shapes_text(feed)}];
  if (!kind.repeats_whole_runs) return engine_.whole_runs().run(state, feed);
  std::vector<Tensor> outputs = run_segments(state, feed, sample, optimization);
  if (kind.is_known()) return outputs;
  ++kind.num_checks;
  for (const Tensor& output : outputs) kind.num_values += output.size();
  std::vector<Tensor> whole = engine_.whole_runs().run(state, feed);
  const auto same_bits = [](const Tensor& a, const Tensor& b) { return a.equal_bits(b); };
  kind.repeats_whole_runs = std::ranges::equal(outputs, whole, same_bits);
  return whole;
}

Span NeighbourRuns::segment(std::size_t i) const {
  return {i == 0 ? 0 : cuts_[i - 1],
          i == cuts_.size() ? engine_.network().order().size() : cuts_[i]};
}

std::vector<Tensor> NeighbourRuns::run_segments(const State& state, const Feed& feed,
                                                std::size_t sample, Optimization optimization) {
  const graph::Graph& graph = engine_.network().graph();
  const RunState actions = engine_.network().run_state(state);
  std::vector<Key> keys;
  for (std::size_t i = 0; i < cuts_.size(); ++i)
    keys.emplace_back(i, number_of(state, cuts_[i], optimization), sample);
  TensorValues values = values_of(graph, feed);
  std::size_t first = cuts_.size();
  while (first > 0 && !kept_.contains(keys[first - 1])) --first;
  // All in front of it count as used, too: a neighbour may differ earlier.
  for (std::size_t i = 0; i < first; ++i) {
    if (const auto found = kept_.find(keys[i]); found != kept_.end())
      recent_.splice(recent_.begin(), recent_, found->second);
  }
  if (first > 0) values = kept_.at(keys[first - 1])->values;
  for (std::size_t i = first; i <= cuts_.size(); ++i) {
    run_segment(state, actions, segment(i), optimization, &values);
    if (i < cuts_.size()) keep(keys[i], values, cuts_[i]);
  }
  std::vector<Tensor> outputs;
  for (const TensorId t : graph.outputs()) outputs.push_back(values.at(t));
  return outputs;
}

void NeighbourRuns::run_segment(const State& state, const RunState& actions, Span span,
                                Optimization optimization, TensorValues* values) {
  const Network& network = engine_.network();
  std::vector<TensorId> wanted = made_in(network, state, span, network.order().live(span.end));
  if (wanted.empty()) return;
  SimulatedPart part = simulated_part(network, span, state);
  part.outputs = std::move(wanted);
  part.threads = network.num_threads();
  part.optimization = optimization;
  const PartSession session = engine_.sessions().simulated(std::move(part));
  std::vector<Tensor> results = session.run(*values, actions);
  engine_.work().add(engine_.shapes().cost(span.begin, span.end));
  for (std::size_t i = 0; i < results.size(); ++i)
    values->insert_or_assign(session.outputs[i], std::move(results[i]));
}

int NeighbourRuns::number_of(const State& state, int cut, Optimization optimization) {
  const Network& network = engine_.network();
  std::string text = std::to_string(static_cast<int>(optimization)) + "/";
  for (const int s : state) {
    if (!acts_in(network, s, {0, cut})) continue;
    text += std::to_string(s) + "@" + std::to_string(network.quantizer(s)->version()) + ",";
  }
  return numbers_.try_emplace(std::move(text), static_cast<int>(numbers_.size())).first->second;
}

void NeighbourRuns::keep(const Key& key, const TensorValues& values, int cut) {
  Kept kept{.key = key, .values = {}, .bytes = 0};
  for (const TensorId t : engine_.network().order().live(cut)) {
    const Tensor& value = values.at(t);
    kept.bytes += static_cast<std::int64_t>(value.size_bytes());
    kept.values.emplace(t, value);
  }
  if (kept.bytes > max_kept_bytes_ || kept_.contains(key)) return;
  kept_bytes_ += kept.bytes;
  recent_.push_front(std::move(kept));
  kept_[key] = recent_.begin();
  while (kept_bytes_ > max_kept_bytes_) {
    kept_bytes_ -= recent_.back().bytes;
    kept_.erase(recent_.back().key);
    recent_.pop_back();
  }
}

}  // namespace bitsweep::simulate
