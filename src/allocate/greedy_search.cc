#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <set>

#include "allocate/greedy_run.h"
#include "allocate/pareto_walk.h"
#include "allocate/searches/search.h"
#include "bitsweep/allocation.h"
#include "bitsweep/error.h"
#include "graph/placement.h"
#include "simulate/engine.h"
#include "simulate/network/network.h"

namespace bitsweep {
namespace {

using allocate::GreedyRun;
using allocate::GroupChange;
using allocate::ParetoWalk;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string exact(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

double price(const Candidate& c) {
  return effective_bits(c.activation) * (c.parameter ? effective_bits(*c.parameter) : 1.0);
}

/// Every group at the candidate, or at its first supported one.
std::vector<GroupChange> mapping(const SupportedCandidates& supported, const Candidate& wanted) {
  std::vector<GroupChange> changes;
  for (std::size_t g = 0; g < supported.by_group.size(); ++g) {
    const std::vector<Candidate>& list = supported.by_group[g];
    Candidate chosen = list.front();
    for (const Candidate& c : list) {
      if (c == wanted || (!c.parameter && c.activation == wanted.activation)) {
        chosen = c;
        break;
      }
    }
    changes.push_back({static_cast<int>(g), chosen});
  }
  return changes;
}

class Search {
 public:
  Search(Simulation& simulation, const GreedyOptions& options, GreedyEvaluator& evaluator)
      : simulation_(simulation), options_(options), run_(simulation, evaluator) {}

  GreedyResult run() {
    allocate::find_search(options_.search);
    if (run_.groups().empty()) {
      throw Error(ErrorCode::kNotReady, "mixed precision", "no quantizer is enabled",
                  "enable quantizers first");
    }
    result_.groups = run_.groups();
    supported_ = supported_candidates(simulation_, run_.groups(), options_.candidates,
                                      options_.ignore_kernels);
    try {
      search();
    } catch (...) {
      run_.restore();
      throw;
    }
    return std::move(result_);
  }

 private:
  struct Option {
    Candidate candidate;
    double score = 0.0;
  };

  void search() {
    run_.settings().enable_all(false);
    result_.float_score = run_.score_phase2();
    run_.settings().enable_all(true);
    score_options();

    result_.baseline = best().candidate;
    const std::vector<GroupChange> start = mapping(supported_, result_.baseline);
    for (const GroupChange& change : start) result_.baseline_by_group.push_back(change.candidate);
    run_.configure(start);

    if (options_.allowed_drop) {
      const double drop = *options_.allowed_drop;
      if (result_.float_score - best().score > drop) {
        result_.end = GreedyEnd::kBestTooWeak;
        return finish(start, best().score);
      }
      if (result_.float_score - lowest().score < drop) {
        result_.end = GreedyEnd::kLowestSuffices;
        const std::vector<GroupChange> low = mapping(supported_, lowest().candidate);
        run_.configure(low);
        return finish(low, lowest().score);
      }
    }
    walk_down(start);
  }

  void walk_down(const std::vector<GroupChange>& start) {
    BitOperations cost(simulation_, run_.groups(), BitOpsCounting::kReference);
    // Without a Conv or Gemm the reference would divide by zero.
    if (cost.macs().empty())
      cost = BitOperations(simulation_, run_.groups(), BitOpsCounting::kEveryProduct);

    GreedyEvaluator::Known known = run_.evaluator().recall(identity());
    const std::size_t num_known = known.entries.size();
    const Clock::time_point phase1 = Clock::now();
    result_.entries =
        allocate::sensitivity_list(run_, supported_, result_.baseline, start, cost,
                                   options_.share_calibration, std::move(known.entries));
    run_.evaluator().keep_entries(result_.entries);
    result_.phase1_s = seconds_since(phase1);

    const Clock::time_point phase2 = Clock::now();
    ParetoWalk walk(result_.entries, start, result_.baseline, cost, run_.settings(),
                    [this](const std::vector<GroupChange>& changes) {
                      run_.configure(changes);
                      return run_.score_phase2();
                    });
    // Points were measured along the complete list only.
    if (num_known == result_.entries.size()) walk.take_known(known.points);
    walk.on_point([this](const std::vector<GreedyPoint>& p) { run_.evaluator().keep_points(p); });
    std::optional<double> target;
    if (options_.allowed_drop) target = result_.float_score - *options_.allowed_drop;
    const std::vector<GroupChange> chosen = walk.changes(walk.search(options_.search, target));
    result_.points = walk.points();
    result_.num_searched_points = walk.num_searched();
    run_.evaluator().keep_points(result_.points);
    run_.configure(chosen);
    finish(chosen, run_.score_phase2());
    result_.phase2_s = seconds_since(phase2);
  }

  /// Options whose scores decide something.
  std::vector<Candidate> relevant_options() const {
    if (!options_.baseline_by_bits) return supported_.options;
    const auto [low, high] = std::minmax_element(
        supported_.options.begin(), supported_.options.end(),
        [](const Candidate& a, const Candidate& b) { return price(a) < price(b); });
    return low == high ? std::vector{*high} : std::vector{*high, *low};
  }

  void score_options() {
    for (const Candidate& candidate : relevant_options()) {
      run_.configure(mapping(supported_, candidate));
      options_scored_.push_back({candidate, run_.score_phase2()});
    }
  }

  const Option& best() const {
    const Option* result = &options_scored_.front();
    if (options_.baseline_by_bits) return *result;
    for (const Option& o : options_scored_) {
      if (o.score > result->score) result = &o;
    }
    return *result;
  }

  const Option& lowest() const {
    const Option* result = &options_scored_.front();
    for (const Option& o : options_scored_) {
      const double difference = price(o.candidate) - price(result->candidate);
      if (difference < 0.0 || (difference == 0.0 && o.score > result->score)) result = &o;
    }
    return *result;
  }

  /// Everything that decides scores, as far as it can be seen: the samples show in the ranges and
  /// in the scores of the whole model.
  std::string identity() const {
    std::string text = simulation_.model().content_hash() + "\n" +
                       simulation_.engine().network().placement().rules_name + "\n" +
                       (options_.share_calibration ? "shared" : "own") + "\nfloat " +
                       exact(result_.float_score) + "\n";
    for (const Option& o : options_scored_)
      text += candidate_text(o.candidate) + " " + exact(o.score) + "\n";
    for (std::size_t g = 0; g < run_.groups().size(); ++g) {
      for (const Candidate& c : supported_.by_group[g]) text += candidate_text(c) + " ";
      text += "\n";
    }
    for (const std::string& name : simulation_.tensor_names()) {
      const Quantizer& q = *simulation_.quantizer(name);
      if (!q.enabled()) continue;
      text += name + " " + q.format().name() + (q.symmetric() ? " s" : " a") +
              (q.strict_symmetric() ? "s" : "") + (q.unsigned_symmetric() ? "u" : "");
      if (q.encoding()) {
        for (const AffineEncoding& cell : q.encoding()->cells)
          text += " " + exact(cell.delta) + " " + exact(static_cast<double>(cell.offset));
      }
      text += "\n";
    }
    return text;
  }

  void finish(const std::vector<GroupChange>& changes, double score) {
    result_.final_score = score;
    result_.num_phase2_scores = run_.num_phase2_scores();
    result_.chosen.resize(run_.groups().size());
    for (const GroupChange& change : changes)
      result_.chosen[static_cast<std::size_t>(change.group)] = change.candidate;
    for (int g = 0; g < run_.settings().size(); ++g) count_flipped(g);
  }

  void count_flipped(int g) {
    const QuantizerGroup& group = run_.groups()[static_cast<std::size_t>(g)];
    const Candidate now = run_.settings().current(g);
    const auto activations = static_cast<std::int64_t>(group.activations.size());
    const auto parameters = static_cast<std::int64_t>(group.parameters.size());
    result_.num_activations += activations;
    result_.num_parameters += parameters;
    if (activations > 0 && now.activation != result_.baseline.activation)
      result_.num_flipped_activations += activations;
    if (parameters > 0 && now.parameter != result_.baseline.parameter)
      result_.num_flipped_parameters += parameters;
  }

  Simulation& simulation_;
  const GreedyOptions& options_;
  GreedyRun run_;
  SupportedCandidates supported_;
  std::vector<Option> options_scored_;
  GreedyResult result_;
};

}  // namespace

GreedyResult greedy_search(Simulation& simulation, const GreedyOptions& options,
                           GreedyEvaluator& evaluator) {
  for (const Candidate& c : options.candidates) allocate::require_types_only(c);
  return Search(simulation, options, evaluator).run();
}

}  // namespace bitsweep
