#include "bitsweep/mix.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "allocate/budget/configuration.h"
#include "allocate/mix/correction.h"
#include "allocate/mix/encoding_bank.h"
#include "allocate/mix/kept_runs.h"
#include "allocate/mix/mix_groups.h"
#include "allocate/mix/mix_problem.h"
#include "bitsweep/error.h"
#include "bitsweep/metric.h"
#include "simulate/engine.h"

namespace bitsweep {
namespace {

using allocate::EncodingBank;
using allocate::MeasuredMix;
using allocate::MixGroups;

constexpr double kMaxDb = 100.0;

double db_of(double loss) {
  return loss <= 0.0 ? kMaxDb : std::clamp(-10.0 * std::log10(loss), -kMaxDb, kMaxDb);
}
double loss_of_db(double db) { return std::pow(10.0, -db / 10.0); }

int cost_index(const std::string& name) {
  const auto& costs = mix_costs();
  std::string names;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (costs[i].name == name) return static_cast<int>(i);
    names += (i == 0 ? "" : ", ") + costs[i].name;
  }
  throw Error(ErrorCode::kInvalidArgument, "mix", "no cost is named \"" + name + "\"",
              "use one of: " + names);
}

class Mixing {
 public:
  Mixing(Simulation& simulation, SampleSource& search, const MixOptions& options, MixGroups groups,
         EncodingBank& bank, allocate::KeptRuns& kept, const allocate::Tick& tick)
      : simulation_(simulation),
        search_(search),
        options_(options),
        groups_(std::move(groups)),
        bank_(bank),
        kept_(kept),
        tick_(tick),
        cost_(cost_index(options.cost)) {
    for (const MixTarget& target : options.targets) {
      if (target.at_least) {
        wanted_db_ = std::max(wanted_db_.value_or(target.value), target.value);
      } else {
        limits_.push_back({cost_index(target.name), target.value});
      }
    }
  }

  MixResult run(SampleSource* test) {
    base_ = allocate::problem_of_groups(simulation_, bank_, groups_, search_, options_, kept_,
                                        tick_, &result_.notes);
    if (!options_.targets.empty()) choose();
    if (options_.frontier_points > 0) make_frontier();
    result_.groups = groups_.groups;
    result_.num_measured = static_cast<int>(measured_.size());
    if (chosen_) {
      result_.chosen = point_of(*chosen_);
      set(chosen_->choices);
      if (test != nullptr) result_.test_db = score(*test);
    }
    return std::move(result_);
  }

 private:
  struct Known {
    std::vector<int> choices;
    double predicted_db = 0.0;
    double measured_db = 0.0;
  };

  void set(const std::vector<int>& choices) {
    std::vector<int> candidates;
    for (std::size_t g = 0; g < choices.size(); ++g)
      candidates.push_back(groups_.candidate_of[g][static_cast<std::size_t>(choices[g])]);
    bank_.set(candidates);
  }

  /// Every quantizer that is on.
  simulate::State whole_state() const {
    std::vector<const Quantizer*> quantizers;
    for (const std::string& name : simulation_.tensor_names()) {
      const Quantizer* q = simulation_.quantizer(name).get();
      if (q->enabled()) quantizers.push_back(q);
    }
    return simulation_.engine().sites_of(quantizers);
  }

  /// SQNR of the model as it is set now.
  double score(SampleSource& samples) {
    constexpr const char* kSums = "sums of whole runs 1";
    const std::unique_ptr<MetricAccumulator> metric = make_metric("sqnr", {.max_db = kMaxDb});
    const journal::Key state = kept_.keys_of(simulation_, {whole_state()}).front();
    samples.rewind();
    Feed feed;
    std::int64_t done = 0;
    while (samples.next(&feed)) {
      const journal::Key key = kept_.key_of(feed);
      std::optional<std::vector<double>> sums = kept_.find(key, state, kSums);
      if (!sums) {
        const std::unique_ptr<MetricAccumulator> one = metric->fresh();
        one->add(simulation_.run_float(feed), simulation_.run(feed));
        sums = one->state();
        kept_.keep(key, state, kSums, *sums);
      }
      metric->merge(*sums);
      tick_("measure mixes", ++done, samples.size());
    }
    if (done == 0) {
      throw Error(ErrorCode::kInvalidData, "mix", "there is no sample to check the result with",
                  "give at least one");
    }
    return metric->score();
  }

  /// Runs a configuration for real, once.
  const Known& measure(const std::vector<int>& choices, const BudgetProblem& problem) {
    for (const Known& known : measured_) {
      if (known.choices == choices) return known;
    }
    set(choices);
    const double predicted = db_of(loss_of(problem, choices));
    measured_.push_back({choices, predicted, score(search_)});
    samples_.push_back({choices, loss_of_db(measured_.back().measured_db)});
    return measured_.back();
  }

  bool is_measured(const std::vector<int>& choices) const {
    return std::any_of(measured_.begin(), measured_.end(),
                       [&](const Known& known) { return known.choices == choices; });
  }

  BudgetProblem problem() const { return allocate::corrected(base_, samples_); }

  BudgetSolution solve(const BudgetProblem& problem, double max_loss) const {
    const BudgetOptions quick = without_bound();
    return wanted_db_ ? least_cost(problem, cost_, max_loss, limits_, quick)
                      : least_loss(problem, limits_, quick);
  }

  double price(const std::vector<int>& choices) const {
    return cost_of(base_.costs[static_cast<std::size_t>(cost_)], choices);
  }

  bool within_limits(const std::vector<int>& choices) const {
    return std::all_of(limits_.begin(), limits_.end(), [&](const CostLimit& l) {
      return cost_of(base_.costs[static_cast<std::size_t>(l.cost)], choices) <=
             l.at_most * (1.0 + 1e-8);
    });
  }

  /// The best of all measured configurations that meet the targets.
  std::optional<Known> best_measured() const {
    std::optional<Known> best;
    for (const Known& known : measured_) {
      if (!within_limits(known.choices)) continue;
      if (wanted_db_ && known.measured_db < *wanted_db_) continue;
      const bool better = !best || (wanted_db_ ? price(known.choices) < price(best->choices)
                                               : known.measured_db > best->measured_db);
      if (better) best = known;
    }
    return best;
  }

  void choose() {
    const BudgetSolution top = least_loss(base_, limits_, without_bound());
    if (!top.feasible()) {
      result_.infeasible = top.infeasible;
      return;
    }
    if (wanted_db_) measure(top.choices, base_);
    // A margin in the loss, learnt from configurations that missed the quality.
    double margin = 1.0;
    for (int round = 1; round <= options_.max_rounds; ++round) {
      result_.rounds = round;
      const BudgetProblem now = problem();
      const BudgetSolution found = solve(now, wanted_db_ ? loss_of_db(*wanted_db_) * margin : 0.0);
      if (!found.feasible()) break;
      const bool seen = is_measured(found.choices);
      const Known known = measure(found.choices, now);
      const double predicted = db_of(loss_of(now, found.choices));
      const bool agrees = std::abs(predicted - known.measured_db) <= options_.tolerance_db;
      const bool meets = !wanted_db_ || known.measured_db >= *wanted_db_;
      result_.agreed = agrees && meets;
      if (result_.agreed || (seen && meets)) break;
      if (!meets) margin *= loss_of_db(std::max(0.02, *wanted_db_ - known.measured_db));
    }
    try_neighbours();
    chosen_ = best_measured();
    if (!chosen_) {
      double highest = -kMaxDb;
      for (const Known& known : measured_) highest = std::max(highest, known.measured_db);
      char text[64];
      std::snprintf(text, sizeof text, "the best measured quality is %.2f dB", highest);
      result_.infeasible = text;
      return;
    }
    prove();
  }

  /// Runs what is predicted best among the changes of one or two groups of the best configuration,
  /// as long as there is one that promises more.
  void try_neighbours() {
    for (int i = 0; i < options_.max_rounds; ++i) {
      const std::optional<Known> best = best_measured();
      if (!best) return;
      std::vector<CostLimit> limits = limits_;
      // A quality is reached already; from here on only cheaper ones count.
      if (wanted_db_) limits.push_back({cost_, price(best->choices) * (1.0 - 1e-6)});
      const BudgetProblem now = problem();
      const double max_loss = wanted_db_ ? loss_of_db(*wanted_db_) : INFINITY;
      const std::vector<int> next = best_neighbour(now, limits, best->choices, max_loss);
      if (next.empty()) return;
      measure(next, now);
    }
  }

  /// Of all changes of one or two groups that fit and were not run: the one with the least loss.
  std::vector<int> best_neighbour(const BudgetProblem& problem,
                                  const std::vector<CostLimit>& limits,
                                  const std::vector<int>& start, double max_loss) const {
    constexpr std::size_t kMaxChoicesForPairs = 1200;
    allocate::Configuration x(problem, limits, start);
    std::vector<int> best;
    double least = max_loss;
    const auto look = [&] {
      if (x.loss() > least || !x.fits() || is_measured(x.choices())) return;
      least = x.loss();
      best = x.choices();
    };
    const auto for_each_choice = [&](std::size_t g, const auto& visit) {
      const int old = x.choice(g);
      for (int c = 0; c < static_cast<int>(problem.loss[g].size()); ++c) {
        if (c == old) continue;
        x.set(g, c);
        visit();
      }
      x.set(g, old);
    };
    const bool pairs = problem.num_choices() <= kMaxChoicesForPairs;
    for (std::size_t g = 0; g < start.size(); ++g) {
      for_each_choice(g, [&] {
        look();
        for (std::size_t h = g + 1; pairs && h < start.size(); ++h) for_each_choice(h, look);
      });
    }
    return best;
  }

  /// Bounds are for the end.
  BudgetOptions without_bound() const {
    BudgetOptions options = options_.budget;
    options.bound = false;
    return options;
  }

  /// How far the chosen configuration can be from the best one of its cost, as predicted now.
  void prove() {
    const BudgetProblem now = problem();
    std::vector<CostLimit> limits = limits_;
    if (wanted_db_) limits.push_back({cost_, price(chosen_->choices)});
    const BudgetSolution best = least_loss(now, limits, options_.budget);
    if (!best.feasible() || !best.bound) return;
    const double loss = loss_of(now, chosen_->choices);
    // A bound below zero says nothing.
    if (loss > 0.0 && *best.bound > 0.0) result_.gap = std::max(0.0, (loss - *best.bound) / loss);
    result_.optimal = best.optimal && loss <= best.loss;
  }

  void make_frontier() {
    std::vector<CostLimit> limits;
    for (const CostLimit& limit : limits_) {
      if (limit.cost != cost_) limits.push_back(limit);
    }
    const std::vector<BudgetSolution> points =
        frontier(problem(), cost_, limits, options_.frontier_points);
    std::vector<Known> found;
    std::int64_t done = 0;
    for (const BudgetSolution& point : points) {
      found.push_back(measure(point.choices, problem()));
      tick_("check", ++done, static_cast<std::int64_t>(points.size()));
    }
    if (chosen_) found.push_back(*chosen_);
    std::stable_sort(found.begin(), found.end(), [&](const Known& a, const Known& b) {
      return std::pair(price(a.choices), -a.measured_db) <
             std::pair(price(b.choices), -b.measured_db);
    });
    // Only what nothing cheaper beats is part of the curve.
    for (const Known& known : found) {
      const bool better =
          result_.frontier.empty() || known.measured_db > result_.frontier.back().measured_db;
      if (better) result_.frontier.push_back(point_of(known));
    }
  }

  MixPoint point_of(const Known& known) const {
    MixPoint point{.by_group = {},
                   .costs = {},
                   .predicted_db = known.predicted_db,
                   .measured_db = known.measured_db};
    for (std::size_t g = 0; g < known.choices.size(); ++g)
      point.by_group.push_back(groups_.choices[g][static_cast<std::size_t>(known.choices[g])]);
    for (const CostTable& cost : base_.costs) point.costs.push_back(cost_of(cost, known.choices));
    return point;
  }

  Simulation& simulation_;
  SampleSource& search_;
  const MixOptions& options_;
  MixGroups groups_;
  EncodingBank& bank_;
  allocate::KeptRuns& kept_;
  const allocate::Tick& tick_;
  int cost_;
  std::optional<double> wanted_db_;
  std::vector<CostLimit> limits_;
  BudgetProblem base_;
  std::vector<Known> measured_;
  std::vector<MeasuredMix> samples_;
  std::optional<Known> chosen_;
  MixResult result_;
};

}  // namespace

MixResult mix(Simulation& simulation, SampleSource& calibration, SampleSource& search,
              SampleSource* test, const MixOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const allocate::Tick tick = allocate::tick_of(options);
  MixGroups groups = allocate::make_mix_groups(simulation, options);
  const std::vector<QuantizerGroup> names = groups.groups;
  const std::vector<Candidate> candidates = groups.candidates;
  allocate::KeptRuns kept(options.run_directory);
  EncodingBank bank(simulation, names, candidates, calibration, tick);
  try {
    Mixing mixing(simulation, search, options, std::move(groups), bank, kept, tick);
    MixResult result = mixing.run(test);
    result.num_kept = kept.num_found();
    result.num_run = kept.num_run();
    for (const std::string& note : kept.notes()) result.notes.push_back(note);
    if (!result.chosen) bank.restore();
    result.elapsed_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
  } catch (...) {
    bank.restore();
    throw;
  }
}

}  // namespace bitsweep
