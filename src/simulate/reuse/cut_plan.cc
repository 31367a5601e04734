#include "simulate/reuse/cut_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "graph/cuts.h"
#include "graph/pieces/shareable.h"
#include "simulate/network/tensor_values.h"
#include "simulate/parts/suffix.h"

namespace bitsweep::simulate {
namespace {

// Measured with ONNX Runtime 1.32 on a mobile CNN, a ResNet and a transformer encoder: making a
// session takes 2.3 to 12 float passes of what it holds, a boundary re-layout about 3 % of a pass
// per state.
constexpr double kSessionCreation = 6.0;
constexpr double kBoundary = 0.02;
// Share of the suffixes whose reference each sample needs: most repeat the float pass bit for bit,
// so that one reference does for all samples of the same shapes.
constexpr double kInexactSuffixes = 0.2;
// Part of a span's cost that its quantizer and the lost fusions around it add.
constexpr double kSpanOverhead = 1.1;

// Samples that run in step when memory is short: the making of a session then adds about a third to
// what its runs cost, while the boundaries that are kept stay few.
constexpr std::int64_t kLargestBlock = 16;
// One part in so many of the memory may hold the values that samples keep: how many samples there
// are, fewer than a block or hundreds, then hardly shows in it.
constexpr std::int64_t kShareOfSamples = 4;

// Beyond so many samples, more cuts save two per cent of the work at most, and each takes a
// session: the plan, and with it the memory, shall not depend on how many samples there are.
constexpr std::int64_t kSamplesOfPlan = 8;

struct Candidate {
  int position = 0;
  double before = 0.0;  // W: cost of what lies before
};

class Planner {
 public:
  Planner(const Network& network, const Shapes& shapes, const std::vector<State>& states,
          const CutPlanOptions& options)
      : network_(network),
        shapes_(shapes),
        options_(options),
        samples_(
            static_cast<double>(std::clamp<std::int64_t>(options.num_samples, 1, kSamplesOfPlan))) {
    collect_states(states);
    collect_candidates();
    count_unread();
  }

  CutPlan solve() {
    const std::int64_t limit = options_.memory_bytes;
    CutPlan plan = best_with_partial_suffixes();
    if (limit == 0 || session_bytes(plan.evaluation) <= static_cast<double>(limit)) return plan;
    std::int64_t block = std::clamp<std::int64_t>(options_.num_samples, 1, kLargestBlock);
    for (;; block /= 2) {
      samples_ = static_cast<double>(block);
      plan = best_with_partial_suffixes();
      if (block == 1 || kShareOfSamples * block * boundary_bytes(plan.evaluation.cuts) <= limit)
        break;
    }
    plan.evaluation.open_samples = static_cast<std::size_t>(block);
    // Two of the largest fit always: a span and the suffix behind it, used in turn.
    plan.evaluation.session_bytes = static_cast<std::size_t>(
        std::max({limit / 2, limit - block * boundary_bytes(plan.evaluation.cuts),
                  static_cast<std::int64_t>(2.0 * weights_behind(0))}));
    // Packed weights are held once, and as long as the engine.
    plan.evaluation.pack_weights = 2.0 * shareable_bytes_ <= static_cast<double>(limit);
    return plan;
  }

 private:
  CutPlan best_with_partial_suffixes() const {
    CutPlan plan = best();
    add_partial_suffixes(&plan);
    return plan;
  }

  // Suffixes of their own for states that reach only a part of the network, where they save more
  // than they cost.
  void add_partial_suffixes(CutPlan* plan) const {
    std::map<std::pair<int, std::vector<graph::TensorId>>, double> num_states;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const Cuts& cuts = plan->evaluation.cuts;
      const int position = span_of(changes_[i], cuts).end;
      const auto to = std::lower_bound(cuts.begin(), cuts.end(), position);
      if (to == cuts.end()) continue;
      std::vector<graph::TensorId> changed = changed_at(network_, states_[i], position);
      if (!changed.empty()) num_states[{static_cast<int>(to - cuts.begin()), changed}] += 1.0;
    }
    const double creation = kSessionCreation / samples_;
    for (const auto& [key, count] : num_states) {
      const int position = plan->evaluation.cuts[static_cast<std::size_t>(key.first)];
      const double whole = shapes_.cost(position, network_.order().size());
      const double part = make_suffix(network_, shapes_, position, key.second).cost;
      // Its own reference and session against what each state saves.
      if (count * (whole - part) <= part * (references() + creation)) continue;
      plan->cost_per_sample += part - count * (whole - part);
      plan->evaluation.partial_suffixes.push_back(key);
    }
  }

  void collect_states(const std::vector<State>& states) {
    for (const State& state : states) {
      const std::optional<Change> change = change_of(network_, state);
      if (!change) continue;
      states_.push_back(state);
      changes_.push_back(*change);
      if (may_be_taken(*change)) continue;
      firsts_.push_back(change->first);
      lasts_.push_back(change->last);
    }
    std::sort(firsts_.begin(), firsts_.end());
    std::sort(lasts_.begin(), lasts_.end());
  }

  void collect_candidates() {
    const NodeOrder& order = network_.order();
    std::vector<double> weight_bytes(static_cast<std::size_t>(order.size()) + 1, 0.0);
    for (graph::TensorId t = 0; t < static_cast<graph::TensorId>(network_.graph().tensors().size());
         ++t) {
      const graph::TensorInfo& info = network_.graph().tensor(t);
      if (!info.is_static || order.last_read(t) < 0 || !info.shape) continue;
      const double bytes = static_cast<double>(num_elements(*info.shape)) *
                           static_cast<double>(data_type_size(info.type));
      // A weight is in every suffix that starts at or before its last reader, unless they share it.
      if (graph::is_shareable(network_.graph(), t)) {
        shareable_bytes_ += bytes;
      } else {
        weight_bytes[static_cast<std::size_t>(order.last_read(t))] += bytes;
      }
    }
    bytes_behind_.assign(weight_bytes.size() + 1, 0.0);
    for (int p = order.size(); p >= 0; --p) {
      bytes_behind_[static_cast<std::size_t>(p)] = bytes_behind_[static_cast<std::size_t>(p) + 1] +
                                                   weight_bytes[static_cast<std::size_t>(p)];
    }
    const auto add = [&](int position) {
      candidates_.push_back({position, shapes_.cost(0, position)});
    };
    add(0);
    for (const graph::CutCandidate& cut : graph::cut_candidates(network_.graph())) {
      if (cut.clean && cut.position > 0 && cut.position < order.size() &&
          can_be_handed_on(network_.graph(), cut.live) && options_.refused.count(cut.position) == 0)
        add(cut.position);
    }
    add(order.size());
  }

  static bool may_be_taken(const Change& change) { return change.made < change.read; }

  void count_unread() {
    const std::size_t n = candidates_.size();
    unread_.assign(n, std::vector<double>(n, 0.0));
    for (const Change& change : changes_) {
      if (!may_be_taken(change)) continue;
      unread_[first_candidate_behind(change.made)][first_candidate_behind(change.read)] += 1.0;
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (i > 0) unread_[i][j] += unread_[i - 1][j];
        if (j > 0) unread_[i][j] += unread_[i][j - 1];
        if (i > 0 && j > 0) unread_[i][j] -= unread_[i - 1][j - 1];
      }
    }
  }

  std::size_t first_candidate_behind(int position) const {
    const auto behind =
        std::upper_bound(candidates_.begin(), candidates_.end(), position,
                         [](int p, const Candidate& candidate) { return p < candidate.position; });
    return static_cast<std::size_t>(behind - candidates_.begin());
  }

  double count_between(const std::vector<int>& sorted, int begin, int end) const {
    return static_cast<double>(std::lower_bound(sorted.begin(), sorted.end(), end) -
                               std::lower_bound(sorted.begin(), sorted.end(), begin));
  }

  // Runs of a suffix without a change, per sample.
  double references() const { return kInexactSuffixes + (1.0 - kInexactSuffixes) / samples_; }

  // Cost of all that depends on candidates i and j being neighbouring cuts.
  double step(std::size_t i, std::size_t j) const {
    const Candidate& from = candidates_[i];
    const Candidate& to = candidates_[j];
    const double creation = kSessionCreation / samples_;
    const double span = kSpanOverhead + creation;
    const double starts = count_between(firsts_, from.position, to.position);
    const double ends = count_between(lasts_, from.position, to.position);
    double cost = -span * from.before * starts + (span - 1.0) * to.before * ends;
    // Of the states whose changed tensors a cut may take: those that `from` takes, those that lie
    // between the two, and those whose tensors are made there (`to` or a later cut takes the rest).
    const double taken = unread_[i][j] - unread_[i][i];
    const double spanned = unread_.back()[j] - unread_[i][j];
    const double made = unread_[j].back() - unread_[i].back();
    cost += taken * (1.0 - from.before + kBoundary);
    cost += spanned * (1.0 - span * from.before + (span - 1.0) * to.before);
    if (to.position == network_.order().size()) return cost;
    cost += kBoundary * (ends + spanned + 1.0);
    if (ends + made > 0) cost += (1.0 - to.before) * (references() + creation);
    return cost;
  }

  CutPlan best() const {
    const std::size_t n = candidates_.size();
    std::vector<double> cost(n, std::numeric_limits<double>::infinity());
    std::vector<std::size_t> previous(n, 0);
    cost[0] = 0.0;
    for (std::size_t j = 1; j < n; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        const double c = cost[i] + step(i, j);
        if (c < cost[j]) {
          cost[j] = c;
          previous[j] = i;
        }
      }
    }
    CutPlan plan{.evaluation = {.threads_per_run = options_.threads_per_run}};
    for (std::size_t j = previous[n - 1]; j > 0; j = previous[j])
      plan.evaluation.cuts.push_back(candidates_[j].position);
    std::reverse(plan.evaluation.cuts.begin(), plan.evaluation.cuts.end());
    // Without the making of sessions.
    plan.cost_per_sample = 1.0;
    for (const int cut : plan.evaluation.cuts)
      plan.cost_per_sample += references() * (1.0 - shapes_.cost(0, cut));
    for (const Change& change : changes_) {
      const auto [a, b] = span_of(change, plan.evaluation.cuts);
      plan.cost_per_sample +=
          shapes_.cost(a, network_.order().size()) + (kSpanOverhead - 1.0) * shapes_.cost(a, b);
    }
    return plan;
  }

  Span span_of(const Change& change, const Cuts& cuts) const {
    return simulate::span_of(change, cuts, network_.order().size());
  }

  double weights_behind(int position) const {
    return bytes_behind_[static_cast<std::size_t>(position)];
  }

  // Of all sessions: the float pass, the suffixes, and a span for each state.
  double session_bytes(const EvaluationPlan& plan) const {
    constexpr double kSession = 1 << 20;  // without weights
    double bytes = shareable_bytes_ + weights_behind(0) + kSession;
    for (const int cut : plan.cuts) bytes += weights_behind(cut) + kSession;
    for (const auto& [cut, changed] : plan.partial_suffixes)
      bytes += weights_behind(plan.cuts[static_cast<std::size_t>(cut)]) + kSession;
    for (const Change& change : changes_) {
      const auto [a, b] = span_of(change, plan.cuts);
      if (a < b) bytes += weights_behind(a) - weights_behind(b) + kSession;
    }
    return bytes;
  }

  // Of a sample: the tensors that live at cuts.
  std::int64_t boundary_bytes(const Cuts& cuts) const {
    std::set<graph::TensorId> kept;
    for (const int cut : cuts) {
      const auto& live = network_.order().live(cut);
      kept.insert(live.begin(), live.end());
    }
    std::int64_t bytes = 0;
    for (const graph::TensorId t : kept) {
      const graph::TensorInfo& tensor = network_.graph().tensor(t);
      if (tensor.shape)
        bytes +=
            num_elements(*tensor.shape) * static_cast<std::int64_t>(data_type_size(tensor.type));
    }
    return bytes;
  }

  const Network& network_;
  const Shapes& shapes_;
  CutPlanOptions options_;
  std::vector<State> states_;    // those that change something
  std::vector<Change> changes_;  // of states_
  // Sorted, of the states that no cut can take.
  std::vector<int> firsts_;
  std::vector<int> lasts_;
  // By two candidates: of the other states, those whose tensors are made in front of the first one
  // and read in front of the second.
  std::vector<std::vector<double>> unread_;
  std::vector<Candidate> candidates_;
  std::vector<double> bytes_behind_;  // by position: weights of a suffix that are its own
  double shareable_bytes_ = 0.0;      // of the weights that all sessions share
  double samples_ = 1.0;              // between two makings of a session
};

}  // namespace

CutPlan plan_cuts(const Network& network, const Shapes& shapes, const std::vector<State>& states,
                  const CutPlanOptions& options) {
  return Planner(network, shapes, states, options).solve();
}

}  // namespace bitsweep::simulate
