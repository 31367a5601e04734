#include <algorithm>
#include <tuple>

#include "allocate/greedy_run.h"
#include "bitsweep/error.h"

namespace bitsweep::allocate {
namespace {

int bits_of(const Candidate& c) {
  return c.activation.bitwidth + (c.parameter ? c.parameter->bitwidth : 0);
}

/// Tells the evaluator when the states of one group at a time begin and end.
class States {
 public:
  States(GreedyEvaluator& evaluator, const std::vector<std::vector<std::string>>& tensors)
      : evaluator_(evaluator) {
    evaluator_.begin_states(tensors);
  }
  ~States() { evaluator_.end_states(); }
  States(const States&) = delete;
  States& operator=(const States&) = delete;

 private:
  GreedyEvaluator& evaluator_;
};

class Phase1 {
 public:
  Phase1(GreedyRun& run, const BitOperations& cost, const Candidate& baseline,
         std::vector<GreedyEntry> known)
      : run_(run), cost_(cost), baseline_(baseline), known_(std::move(known)) {}

  /// Takes over what is known of a group in a candidate; false when that is nothing.
  bool take_known(int group, const Candidate& candidate) {
    const auto it = std::find_if(known_.begin(), known_.end(), [&](const GreedyEntry& e) {
      return e.group == group && e.candidate == candidate;
    });
    if (it == known_.end()) return false;
    keep(group, candidate, it->score);
    return true;
  }

  void add(int group, const Candidate& candidate, double score) {
    keep(group, candidate, score);
    run_.evaluator().keep_entries(entries_);
  }

  std::vector<GreedyEntry> take() { return std::move(entries_); }

 private:
  void keep(int group, const Candidate& candidate, double score) {
    entries_.push_back({group, candidate, score, cost_.reduction(group, baseline_, candidate)});
    sort_entries(entries_);
  }

  GreedyRun& run_;
  const BitOperations& cost_;
  const Candidate& baseline_;
  std::vector<GreedyEntry> known_;
  std::vector<GreedyEntry> entries_;
};

}  // namespace

void score_alone(GreedyRun& run, const std::vector<int>& groups,
                 const std::function<void(int, double)>& use) {
  std::vector<std::vector<std::string>> tensors;
  for (const int g : groups) tensors.push_back(run.settings().tensors(g));
  if (const auto scores = run.evaluator().score_states(tensors)) {
    for (std::size_t i = 0; i < groups.size(); ++i)
      use(groups[i], checked_score(scores->at(i), "phase 1"));
    return;
  }
  const States states(run.evaluator(), tensors);
  for (const int g : groups) {
    run.settings().enable(g, true);
    use(g, run.score_phase1());
    run.settings().enable(g, false);
  }
}

void sort_entries(std::vector<GreedyEntry>& entries) {
  std::stable_sort(entries.begin(), entries.end(), [](const GreedyEntry& a, const GreedyEntry& b) {
    const auto key = [](const GreedyEntry& e) {
      return std::tuple(e.score, bits_of(e.candidate), e.reduction, -e.group);
    };
    return key(a) > key(b);
  });
}

std::vector<GreedyEntry> sensitivity_list(GreedyRun& run, const SupportedCandidates& supported,
                                          const Candidate& baseline,
                                          const std::vector<GroupChange>& baseline_mapping,
                                          const BitOperations& cost, bool share_calibration,
                                          std::vector<GreedyEntry> known) {
  // Candidates in order of first appearance, each with the groups that lack a score for it.
  Phase1 phase(run, cost, baseline, std::move(known));
  std::vector<std::pair<Candidate, std::vector<int>>> wanted;
  for (int g = 0; g < run.settings().size(); ++g) {
    for (const Candidate& c : supported.by_group[static_cast<std::size_t>(g)]) {
      const bool is_baseline =
          c == baseline || (!c.parameter && c.activation == baseline.activation);
      if (is_baseline || phase.take_known(g, c)) continue;
      auto it = std::find_if(wanted.begin(), wanted.end(),
                             [&](const auto& entry) { return entry.first == c; });
      if (it == wanted.end()) it = wanted.insert(wanted.end(), {c, {}});
      it->second.push_back(g);
    }
  }
  for (const auto& [candidate, groups] : wanted) {
    if (share_calibration) {
      std::vector<GroupChange> changes = baseline_mapping;
      for (const int g : groups) changes.push_back({g, candidate});
      run.set(changes);
      run.settings().enable_all(false);
      for (const int g : groups) run.settings().enable(g, true);
      run.calibrate_for_isolation();
      run.settings().enable_all(false);
      score_alone(run, groups, [&](int g, double score) { phase.add(g, candidate, score); });
      continue;
    }
    for (const int g : groups) {
      std::vector<GroupChange> changes = baseline_mapping;
      changes.push_back({g, candidate});
      run.set(changes);
      run.settings().enable_all(false);
      run.settings().enable(g, true);
      run.calibrate();
      phase.add(g, candidate, run.score_phase1());
    }
  }
  return phase.take();
}

}  // namespace bitsweep::allocate

namespace bitsweep {

IsolatedScores isolated_scores(Simulation& simulation, const Candidate& candidate,
                               GreedyEvaluator& evaluator) {
  allocate::require_types_only(candidate);
  allocate::GreedyRun run(simulation, evaluator);
  if (run.groups().empty()) {
    throw Error(ErrorCode::kNotReady, "mixed precision", "no quantizer is enabled",
                "enable quantizers first");
  }
  IsolatedScores result{.groups = run.groups(), .scores = {}};
  std::vector<int> all;
  std::vector<allocate::GroupChange> changes;
  for (int g = 0; g < run.settings().size(); ++g) {
    all.push_back(g);
    changes.push_back({g, candidate});
  }
  try {
    run.set(changes);
    simulation.apply_exception_rules();
    run.calibrate_apart();
    run.settings().enable_all(false);
    allocate::score_alone(run, all, [&](int, double score) { result.scores.push_back(score); });
    run.settings().enable_all(true);
  } catch (...) {
    run.restore();
    throw;
  }
  return result;
}

}  // namespace bitsweep
