#include "allocate/mix/whole_runs.h"

#include <algorithm>
#include <cmath>

#include "allocate/mix/output_change.h"
#include "allocate/mix/quality.h"
#include "bitsweep/error.h"
#include "simulate/engine.h"
#include "simulate/first_nan.h"
#include "simulate/network/network.h"

namespace bitsweep::allocate {
namespace {

// Float outputs are kept up to this size; those of further samples are computed again.
constexpr std::int64_t kMaxReferenceBytes = std::int64_t{256} << 20;
// Raised when the numbers that are kept mean something else than before.
constexpr const char* kSums = "sums of whole runs 1";
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// Of values inside the network, which neighbouring configurations share.
std::int64_t bytes_to_keep(const MixOptions& options) {
  constexpr std::int64_t kMost = std::int64_t{256} << 20;
  constexpr std::int64_t kShareOfMemory = 4;
  return options.max_memory_bytes > 0 ? std::min(kMost, options.max_memory_bytes / kShareOfMemory)
                                      : kMost;
}

/// Every quantizer that is on.
simulate::State whole_state(const Simulation& simulation) {
  std::vector<const Quantizer*> quantizers;
  for (const std::string& name : simulation.tensor_names()) {
    const Quantizer* q = simulation.quantizer(name).get();
    if (q->enabled()) quantizers.push_back(q);
  }
  return simulation.engine().network().sites_of(quantizers);
}

}  // namespace

WholeRuns::WholeRuns(Simulation& simulation, EncodingBank& bank, const MixGroups& groups,
                     KeptRuns& kept, SampleSource& search, const MixOptions& options,
                     const Tick& tick)
    : simulation_(simulation),
      neighbours_(simulation.engine(), bytes_to_keep(options)),
      bank_(bank),
      groups_(groups),
      kept_(kept),
      search_(search),
      tick_(tick),
      sums_key_(ComparedOutputs(options.outputs).key(kSums)),
      metric_(make_metric("sqnr", {.outputs = options.outputs, .max_db = kMaxDb})) {}

std::vector<int> WholeRuns::candidates_of(const std::vector<int>& choices) const {
  std::vector<int> candidates;
  for (std::size_t g = 0; g < choices.size(); ++g)
    candidates.push_back(groups_.candidate_of[g][static_cast<std::size_t>(choices[g])]);
  return candidates;
}

void WholeRuns::set(const std::vector<int>& choices) { bank_.set(candidates_of(choices)); }

const std::vector<WholeRuns::Sums>& WholeRuns::sums_of(const std::vector<int>& choices) {
  const auto [it, is_new] = sums_.try_emplace(candidates_of(choices));
  if (!is_new) return it->second;
  try {
    bank_.set(it->first);
    it->second = run(search_, true);
  } catch (...) {
    sums_.erase(it);
    throw;
  }
  return it->second;
}

MeasuredMix WholeRuns::look_at(const std::vector<int>& choices) {
  return measured_of(choices, sums_of(choices), {});
}

std::vector<MeasuredMix> WholeRuns::look_at_uniform() {
  std::vector<MeasuredMix> result;
  const std::vector<int> otherwise(groups_.groups.size(), 0);
  for (const std::vector<int>& choices : uniform_choices(groups_, otherwise))
    result.push_back(look_at(choices));
  return result;
}

const WholeRun* WholeRuns::find(const std::vector<int>& choices) const {
  const auto it = std::find_if(runs_.begin(), runs_.end(), [&](const WholeRun& run) {
    return run.measured.choices == choices;
  });
  return it == runs_.end() ? nullptr : &*it;
}

const WholeRun& WholeRuns::measure(const std::vector<int>& choices, double predicted_db) {
  if (const WholeRun* known = find(choices)) return *known;
  const std::vector<Sums>& samples = sums_of(choices);
  WholeRun result{.measured = measured_of(choices, samples, {}),
                  .weighted = measured_of(choices, samples, weights_),
                  .predicted_db = predicted_db,
                  .expected_db = 0.0};
  result.expected_db = result.measured.db;
  return runs_.emplace_back(std::move(result));
}

MeasuredMix WholeRuns::measured_of(const std::vector<int>& choices,
                                   const std::vector<Sums>& samples, const Weights& weights) const {
  MeasuredMix result{.choices = choices, .db = score_of(samples, kNone, weights), .without_db = {}};
  for (std::size_t i = 0; samples.size() > 1 && i < samples.size(); ++i)
    result.without_db.push_back(score_of(samples, i, weights));
  return result;
}

std::optional<Clipping> WholeRuns::clipping(const std::vector<int>& choices,
                                            const std::vector<std::string>& activations) {
  set(choices);
  return worst_clipping(simulation_, activations, search_);
}

double WholeRuns::score(SampleSource& samples) { return score_of(run(samples, false), kNone, {}); }

double WholeRuns::score_of(const std::vector<Sums>& samples, std::size_t but,
                           const Weights& weights) const {
  const std::unique_ptr<MetricAccumulator> metric = metric_->fresh();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (i == but) continue;
    Sums sums = samples[i];
    if (!weights.empty()) {
      for (double& sum : sums) sum *= weights[i];
    }
    metric->merge(sums);
  }
  return metric->score();
}

std::string WholeRuns::not_finite_note() const {
  const auto count = std::count_if(runs_.begin(), runs_.end(), [](const WholeRun& run) {
    return is_not_finite(run.measured.db);
  });
  if (count == 0) return {};
  const bool is_known = nan_begins_ && !nan_begins_->empty();
  return std::to_string(count) + " of " + std::to_string(runs_.size()) +
         " mixes that were run give NaN or infinite outputs" +
         (is_known ? "; in the first of them " + *nan_begins_ +
                         ": pin what it is computed from to more bits"
                   : "");
}

std::vector<WholeRuns::Sums> WholeRuns::run(SampleSource& samples, bool are_search) {
  const simulate::State whole = whole_state(simulation_);
  const journal::Key state = kept_.keys_of(simulation_, {whole}).front();
  samples.rewind();
  std::vector<Sums> result;
  Feed feed;
  while (samples.next(&feed)) {
    const journal::Key key = kept_.key_of(feed);
    std::optional<Sums> sums = kept_.find(key, state, sums_key_);
    if (!sums) {
      const std::unique_ptr<MetricAccumulator> one = metric_->fresh();
      simulation_.check_feed(feed);
      one->add(*reference_of(feed, result.size(), are_search),
               are_search ? neighbours_.run(whole, feed, result.size()) : simulation_.run(feed));
      sums = one->state();
      kept_.keep(key, state, sums_key_, *sums);
    }
    if (!nan_begins_ && is_not_finite(score_of({*sums}, kNone, {})))
      nan_begins_ = simulate::first_nan(simulation_, feed);
    result.push_back(std::move(*sums));
    tick_("measure mixes", static_cast<std::int64_t>(result.size()), samples.size());
  }
  if (result.empty()) {
    throw Error(ErrorCode::kInvalidData, "mix", "there is no sample to check the result with",
                "give at least one");
  }
  return result;
}

std::shared_ptr<const MetricReference> WholeRuns::reference_of(const Feed& feed, std::size_t sample,
                                                               bool keep) {
  if (keep) {
    if (const auto known = references_.find(sample); known != references_.end())
      return known->second;
  }
  const std::vector<Tensor> outputs = simulation_.run_float(feed);
  std::shared_ptr<const MetricReference> reference = metric_->prepare(outputs);
  std::int64_t bytes = 0;
  for (const Tensor& t : outputs) bytes += static_cast<std::int64_t>(t.size_bytes());
  if (keep && reference_bytes_ + bytes <= kMaxReferenceBytes) {
    references_[sample] = reference;
    reference_bytes_ += bytes;
  }
  return reference;
}

std::vector<MeasuredMix> WholeRuns::measured() const {
  std::vector<MeasuredMix> result;
  for (const WholeRun& run : runs_) result.push_back(run.measured);
  return result;
}

std::vector<MeasuredMix> WholeRuns::weighted() const {
  std::vector<MeasuredMix> result;
  double moved = 0.0;
  for (const WholeRun& run : runs_) {
    result.push_back(run.weighted);
    moved += (run.measured.db - run.weighted.db) / static_cast<double>(runs_.size());
  }
  for (MeasuredMix& mix : result) {
    mix.db += moved;
    for (double& db : mix.without_db) db += moved;
  }
  return result;
}

}  // namespace bitsweep::allocate
