#include "allocate/mix/group_losses.h"

#include <algorithm>
#include <cmath>

#include "allocate/mix/output_change.h"
#include "allocate/mix/sample_weight.h"
#include "base/parallel_for.h"
#include "base/usable_cpus.h"
#include "bitsweep/error.h"
#include "simulate/engine.h"
#include "simulate/reuse.h"
#include "simulate/reuse/exact_plan.h"

namespace bitsweep::allocate {
namespace {

using simulate::State;

// Raised when the numbers that are kept mean something else than before.
constexpr std::string_view kChanges = "changes of the outputs 2";
constexpr std::string_view kEnergies = "energies of the outputs 1";

class Measurement {
 public:
  Measurement(Simulation& simulation, EncodingBank& bank, const std::vector<QuantizerGroup>& groups,
              const std::vector<std::vector<int>>& choices, SampleSource& samples,
              const GroupLossOptions& options, const Tick& tick)
      : simulation_(simulation),
        network_(simulation.engine().network()),
        evaluator_(simulation.engine().evaluator()),
        bank_(bank),
        choices_(choices),
        samples_(samples),
        options_(options),
        compared_(options.outputs),
        changes_(compared_.key(kChanges)),
        tick_(tick) {
    for (const QuantizerGroup& group : groups) {
      std::vector<const Quantizer*> quantizers;
      for (const auto* names : {&group.activations, &group.parameters}) {
        for (const std::string& name : *names) {
          // Calibration may have left some in float.
          const Quantizer* q = simulation.quantizer(name).get();
          if (q->enabled()) quantizers.push_back(q);
        }
      }
      states_.push_back(network_.sites_of(quantizers));
    }
    offsets_.push_back(0);
    for (const auto& list : choices) offsets_.push_back(offsets_.back() + list.size());
  }

  GroupLosses run() {
    const std::size_t n = offsets_.back();
    squared_.assign(n, 0.0);
    unweighted_.assign(n, 0.0);
    products_.assign(n * n, 0.0);
    squared_products_.assign(n * n, 0.0);
    finite_.assign(n, 1);
    find_keys();
    weigh_outputs();
    samples_.rewind();
    Feed feed;
    std::int64_t done = 0;
    while (samples_.next(&feed)) {
      run_sample(feed);
      tick_("measure groups", ++done, samples_.size());
    }
    evaluator_.clear_plan();
    return result();
  }

 private:
  /// A choice of a group: its place in all tables.
  struct Work {
    std::size_t group;
    std::size_t choice;
  };

  std::vector<Work> work_of_candidate(int candidate) const {
    std::vector<Work> work;
    for (std::size_t g = 0; g < choices_.size(); ++g) {
      for (std::size_t i = 0; i < choices_[g].size(); ++i) {
        if (choices_[g][i] == candidate) work.push_back({g, offsets_[g] + i});
      }
    }
    return work;
  }

  void find_keys() {
    for (const auto& list : choices_) {
      for (const int c : list) num_candidates_ = std::max(num_candidates_, c + 1);
    }
    keys_.resize(offsets_.back());
    float_key_ = options_.kept->keys_of(simulation_, {{}}).front();
    if (!options_.kept->is_open()) return;
    for (int c = 0; c < num_candidates_; ++c) {
      bank_.set_all(c);
      const std::vector<journal::Key> keys = options_.kept->keys_of(simulation_, states_);
      for (const Work& work : work_of_candidate(c)) keys_[work.choice] = keys[work.group];
    }
  }

  std::vector<double> energies_of(const Feed& feed) {
    const journal::Key key = options_.kept->key_of(feed);
    if (auto known = options_.kept->find(key, float_key_, kEnergies)) return *known;
    std::vector<double> energies;
    for (const Tensor& t : simulation_.run_float(feed)) {
      double& energy = energies.emplace_back(0.0);
      if (!is_quantizable_type(t.type())) continue;
      const Tensor values = t.to_float();  // a copy of halves, which has to outlive the loop
      for (const float v : values.floats()) energy += static_cast<double>(v) * v;
    }
    options_.kept->keep(key, float_key_, kEnergies, energies);
    return energies;
  }

  /// Each output counts in units of its own energy over all samples.
  void weigh_outputs() {
    samples_.rewind();
    Feed feed;
    std::vector<double> energy;
    while (samples_.next(&feed)) {
      simulation_.check_feed(feed);
      simulation_.engine().shapes().find_or_observe(feed);
      const std::vector<double> of_sample = energies_of(feed);
      energy.resize(of_sample.size(), 0.0);
      for (std::size_t o = 0; o < of_sample.size(); ++o) energy[o] += of_sample[o];
      ++num_samples_;
    }
    if (num_samples_ == 0) {
      throw Error(ErrorCode::kInvalidData, "mix", "there is no sample to search with",
                  "give at least one");
    }
    for (std::size_t o = 0; o < energy.size(); ++o) {
      const double e = compared_.has(o) ? energy[o] : 0.0;
      if (!std::isfinite(e)) {
        throw Error(ErrorCode::kInvalidData, "mix", "the float model gives NaN or infinite outputs",
                    "check the input preprocessing");
      }
      weights_.push_back(e > 0.0 ? 1.0 / std::sqrt(e) : 0.0);
    }
  }

  // Only when something has to run.
  void plan(const Feed& feed) {
    if (planned_) return;
    planned_ = true;
    const std::int64_t memory = options_.max_memory_bytes > 0 ? options_.max_memory_bytes
                                                              : simulate::default_memory_bytes();
    simulation_.engine().sessions().set_memory_limit(static_cast<std::size_t>(memory));
    simulation_.engine().planner().set_plan(
        states_, feed, {.num_samples = num_samples_, .memory_bytes = memory}, num_threads());
  }

  void run_sample(const Feed& feed) {
    const journal::Key key = options_.kept->key_of(feed);
    std::shared_ptr<simulate::Sample> sample;
    std::vector<OutputChange> changes(offsets_.back());
    for (int c = 0; c < num_candidates_; ++c) {
      std::vector<Work> missing;
      for (const Work& work : work_of_candidate(c)) {
        if (auto known = options_.kept->find(key, keys_[work.choice], changes_)) {
          changes[work.choice] = std::move(*known);
        } else {
          missing.push_back(work);
        }
      }
      if (missing.empty()) continue;
      plan(feed);
      if (sample == nullptr) sample = evaluator_.open_sample(feed);
      bank_.set_all(c);
      parallel_for(missing.size(), num_threads(), [&](std::size_t i) {
        const auto [g, s] = missing[i];
        network_.check_ready(states_[g]);
        const simulate::Evaluation e = evaluator_.evaluate(states_[g], *sample);
        changes[s] = change_of(e.outputs, *e.reference, compared_);
        options_.kept->keep(key, keys_[s], changes_, changes[s]);
      });
    }
    add(std::move(changes));
  }

  int num_threads() const {
    return options_.num_threads > 0 ? options_.num_threads : usable_cpus();
  }

  void add(std::vector<OutputChange> changes) {
    const std::size_t n = changes.size();
    std::vector<std::vector<float>> values(n);  // in units of the outputs' energies
    std::vector<double> squared(n, 0.0);
    std::vector<double> finite;
    for (std::size_t i = 0; i < n; ++i) {
      const OutputChange change = std::move(changes[i]);
      if (is_finite(change)) {
        squared[i] = weighted(change, weights_, &values[i]);
        finite.push_back(squared[i]);
      } else {
        finite_[i] = 0;
      }
    }
    const double weight = sample_weights_.emplace_back(sample_weight(finite));
    for (std::size_t i = 0; i < n; ++i) {
      squared_[i] += weight * squared[i];
      unweighted_[i] += squared[i];
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (values[i].empty() || values[j].empty()) continue;  // not finite
        double sum = 0.0;
        for (std::size_t k = 0; k < values[i].size(); ++k)
          sum += static_cast<double>(values[i][k]) * values[j][k];
        sum *= weight;
        products_[i * n + j] += sum;
        squared_products_[i * n + j] += sum * sum;
      }
    }
  }

  GroupLosses result() {
    const std::size_t n = offsets_.back();
    GroupLosses losses;
    losses.sample_weights = sample_weights_;
    losses.interactions.assign(n * n, 0.0);
    const double scale = scale_of_losses();
    for (std::size_t g = 0; g < choices_.size(); ++g) {
      std::vector<double>& list = losses.loss.emplace_back();
      for (std::size_t i = 0; i < choices_[g].size(); ++i) {
        list.push_back(scale * squared_[offsets_[g] + i]);
        if (finite_[offsets_[g] + i] == 0)
          losses.not_finite.emplace_back(static_cast<int>(g), static_cast<int>(i));
      }
    }
    const double share = lasting_share();
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        losses.interactions[i * n + j] = losses.interactions[j * n + i] =
            scale * share * products_[i * n + j];
      }
    }
    return losses;
  }

  /// Takes the size of the weights out of the losses.
  double scale_of_losses() const {
    double sum = 0.0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < squared_.size(); ++i) {
      if (squared_[i] <= 0.0) continue;
      sum += std::log(unweighted_[i] / squared_[i]);
      ++count;
    }
    return count == 0 ? 1.0 : std::exp(sum / static_cast<double>(count));
  }

  /// How much of the interactions comes back on samples that were not seen, by how much samples
  /// agree: of few samples with short outputs nearly nothing does, and a search would only find
  /// errors that cancel by chance. James and Stein's factor, pairs in units of their own losses.
  double lasting_share() const {
    if (num_samples_ < 2) return 1.0;
    const std::size_t n = offsets_.back();
    double whole = 0.0;
    double by_sample = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const double unit = squared_[i] * squared_[j];
        if (unit <= 0.0) continue;
        whole += products_[i * n + j] * products_[i * n + j] / unit;
        by_sample += squared_products_[i * n + j] / unit;
      }
    }
    if (whole <= 0.0) return 1.0;
    const double samples = static_cast<double>(num_samples_);
    return std::clamp((whole - by_sample) / whole * samples / (samples - 1.0), 0.0, 1.0);
  }

  Simulation& simulation_;
  const simulate::Network& network_;
  simulate::Evaluator& evaluator_;
  EncodingBank& bank_;
  const std::vector<std::vector<int>>& choices_;
  SampleSource& samples_;
  const GroupLossOptions& options_;
  const ComparedOutputs compared_;
  const std::string changes_;
  const Tick& tick_;
  int num_candidates_ = 0;
  bool planned_ = false;
  journal::Key float_key_;
  std::vector<journal::Key> keys_;  // by choice
  std::vector<State> states_;       // by group
  std::vector<std::size_t> offsets_;
  std::int64_t num_samples_ = 0;
  std::vector<double> weights_;  // by output
  std::vector<double> sample_weights_;
  std::vector<double> squared_;  // weighted
  std::vector<double> unweighted_;
  std::vector<double> products_;
  std::vector<double> squared_products_;  // of each sample, summed
  std::vector<char> finite_;
};

}  // namespace

GroupLosses measure_group_losses(Simulation& simulation, EncodingBank& bank,
                                 const std::vector<QuantizerGroup>& groups,
                                 const std::vector<std::vector<int>>& choices,
                                 SampleSource& samples, const GroupLossOptions& options,
                                 const Tick& tick) {
  Measurement measurement(simulation, bank, groups, choices, samples, options, tick);
  try {
    return measurement.run();
  } catch (...) {
    simulation.engine().evaluator().clear_plan();
    throw;
  }
}

}  // namespace bitsweep::allocate
