#include <algorithm>
#include <tuple>

#include "allocate/greedy_run.h"

namespace bitsweep::allocate {
namespace {

int bits_of(const Candidate& c) {
  return c.activation.bitwidth + (c.parameter ? c.parameter->bitwidth : 0);
}

/// Tells the evaluator when the states of one group at a time begin and end.
class States {
 public:
  States(GreedyRun& run, const std::vector<int>& groups) : evaluator_(run.evaluator()) {
    std::vector<std::vector<std::string>> tensors;
    for (const int g : groups) tensors.push_back(run.settings().tensors(g));
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
      : run_(run), cost_(cost), baseline_(baseline), entries_(std::move(known)) {
    sort_entries(entries_);
  }

  bool is_known(int group, const Candidate& candidate) const {
    return std::any_of(entries_.begin(), entries_.end(), [&](const GreedyEntry& e) {
      return e.group == group && e.candidate == candidate;
    });
  }

  /// Scores the group as it is set now, alone.
  void add(int group, const Candidate& candidate) {
    const double score = run_.score_phase1();
    entries_.push_back({group, candidate, score, cost_.reduction(group, baseline_, candidate)});
    sort_entries(entries_);
    run_.evaluator().keep_entries(entries_);
  }

  std::vector<GreedyEntry> take() { return std::move(entries_); }

 private:
  GreedyRun& run_;
  const BitOperations& cost_;
  const Candidate& baseline_;
  std::vector<GreedyEntry> entries_;
};

}  // namespace

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
      if (is_baseline || phase.is_known(g, c)) continue;
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
      const States states(run, groups);
      for (const int g : groups) {
        run.settings().enable(g, true);
        phase.add(g, candidate);
        run.settings().enable(g, false);
      }
      continue;
    }
    for (const int g : groups) {
      std::vector<GroupChange> changes = baseline_mapping;
      changes.push_back({g, candidate});
      run.set(changes);
      run.settings().enable_all(false);
      run.settings().enable(g, true);
      run.calibrate();
      phase.add(g, candidate);
    }
  }
  return phase.take();
}

}  // namespace bitsweep::allocate
