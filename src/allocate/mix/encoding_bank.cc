#include "allocate/mix/encoding_bank.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "allocate/weight_grids.h"
#include "bitsweep/error.h"
#include "simulate/engine.h"
#include "simulate/network/shapes.h"
#include "simulate/network/weight_scale_adjustment.h"

namespace bitsweep::allocate {
namespace {

/// Where the weights have most bits; floats only where nothing else is there.
const Candidate& widest_weights(const std::vector<Candidate>& candidates) {
  const auto bits = [](const Candidate& c) {
    if (!c.parameter) return 0.0;
    return c.parameter == Format::parse("float32") ? 0.5 : effective_bits(*c.parameter);
  };
  return *std::max_element(
      candidates.begin(), candidates.end(),
      [&](const Candidate& a, const Candidate& b) { return bits(a) < bits(b); });
}

void set_width(Quantizer& quantizer, const Format& format) {
  // Keeps the statistics where it can.
  if (quantizer.format().is_integer() && format.is_integer()) {
    quantizer.set_bitwidth(format.bitwidth);
  } else {
    quantizer.set_format(format);
  }
}

}  // namespace

EncodingBank::EncodingBank(Simulation& simulation, const std::vector<QuantizerGroup>& groups,
                           std::vector<Candidate> candidates, SampleSource& samples,
                           const Tick& tick, KeptRuns* kept)
    : simulation_(simulation),
      groups_(groups),
      candidates_(std::move(candidates)),
      samples_(samples),
      start_(simulation),
      ranges_(simulation, kept, samples) {
  std::set<const Quantizer*> seen;
  const auto collect = [&](const std::vector<std::string>& names,
                           std::vector<std::shared_ptr<Quantizer>>& list) {
    for (const std::string& name : names) {
      std::shared_ptr<Quantizer> q = simulation.quantizer(name);
      if (seen.insert(q.get()).second) list.push_back(q);
    }
  };
  for (const QuantizerGroup& group : groups) {
    collect(group.activations, activations_);
    collect(group.parameters, parameters_);
  }
  try {
    for (const auto& list : {activations_, parameters_}) {
      for (const auto& q : list) {
        at_first_[q.get()] = settings_of(*q);
        entries_[q.get()].resize(candidates_.size());
      }
    }
    if (kept != nullptr && kept->is_open()) {
      set_weights(widest_weights(candidates_));
      compute_parameters();
      ranges_.observed_behind(parameters_);
    }
    for (const int c : cheapest_order()) make_candidate(c, tick);
    observe_shapes();
  } catch (...) {
    restore();
    throw;
  }
}

EncodingBank::Settings EncodingBank::settings_of(const Quantizer& quantizer) {
  return {.format = quantizer.format(),
          .symmetric = quantizer.symmetric(),
          .granularity = quantizer.granularity(),
          .estimator = {.scheme = quantizer.scheme(), .percentile = quantizer.percentile()}};
}

EncodingBank::Entry EncodingBank::entry_of(const Quantizer& quantizer,
                                           const std::vector<Entry>& known) {
  Entry entry{.settings = settings_of(quantizer),
              .enabled = quantizer.enabled(),
              .encoding = quantizer.encoding(),
              .snapshot = nullptr};
  // Sessions are found by the versions of their weights, which snapshots hold: those made for one
  // candidate serve all others with the same weights.
  for (const Entry& other : known) {
    if (other.snapshot != nullptr && other.settings == entry.settings &&
        other.enabled == entry.enabled && other.encoding == entry.encoding)
      return other;
  }
  entry.snapshot = quantizer.snapshot();
  return entry;
}

std::vector<int> EncodingBank::cheapest_order() const {
  // Integer widths share the statistics that one estimator needs; floats drop them all.
  const auto of = [&](int c) -> const Candidate& {
    return candidates_[static_cast<std::size_t>(c)];
  };
  const auto key = [&](int c) {
    const auto first = std::find_if(candidates_.begin(), candidates_.end(), [&](const auto& other) {
      return other.estimator == of(c).estimator;
    });
    return std::tuple(!of(c).activation.is_integer(), first - candidates_.begin(), c);
  };
  std::vector<int> order(candidates_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
  return order;
}

void EncodingBank::calibrate(const Tick& tick) {
  std::vector<std::shared_ptr<const Quantizer::Snapshot>> weights;
  for (const auto& q : parameters_) weights.push_back(q->snapshot());
  set_weights(widest_weights(candidates_));
  simulation_.begin_calibration();
  try {
    samples_.rewind();
    Feed feed;
    std::int64_t done = 0;
    while (samples_.next(&feed)) {
      simulation_.run(feed);
      tick("calibrate", ++done, samples_.size());
    }
    if (done == 0) {
      throw Error(ErrorCode::kInvalidData, "calibrate", "there is no calibration sample",
                  "give at least one");
    }
    simulation_.finish_calibration();
  } catch (...) {
    simulation_.abort_calibration();
    throw;
  }
  for (std::size_t i = 0; i < weights.size(); ++i) parameters_[i]->restore(*weights[i]);
}

void EncodingBank::compute_parameters() {
  const std::vector<std::string>& names = simulation_.tensor_names();
  std::vector<std::pair<std::shared_ptr<Quantizer>, bool>> switches;
  const std::set<std::shared_ptr<Quantizer>> wanted(parameters_.begin(), parameters_.end());
  for (const std::string& name : names) {
    std::shared_ptr<Quantizer> q = simulation_.quantizer(name);
    switches.emplace_back(q, q->enabled());
    q->set_enabled(wanted.count(q) > 0 && !q->initialized());
  }
  simulation_.begin_calibration();
  try {
    simulation_.finish_calibration();
  } catch (...) {
    simulation_.abort_calibration();
    throw;
  }
  // A shared quantizer is listed once per tensor; the first entry has its switch of before.
  for (auto it = switches.rbegin(); it != switches.rend(); ++it) it->first->set_enabled(it->second);
}

void EncodingBank::set_estimator(Quantizer& quantizer, const Candidate& candidate) const {
  const RangeEstimator estimator = candidate.estimator.value_or(at_first_.at(&quantizer).estimator);
  quantizer.set_percentile(estimator.percentile);
  quantizer.set_scheme(estimator.scheme);
}

void EncodingBank::set_grid(Quantizer& weight, const Candidate& candidate) const {
  const Granularity& at_first = at_first_.at(&weight).granularity;
  weight.set_granularity(
      candidate.granularity ? granularity_of(*candidate.granularity, weight, at_first) : at_first);
}

void EncodingBank::set_weights(const Candidate& candidate) {
  for (const auto& q : parameters_) {
    set_estimator(*q, candidate);
    set_grid(*q, candidate);
    if (candidate.parameter) q->set_format(*candidate.parameter);
    // Scales that were widened for another candidate must not stay.
    q->clear_encoding();
  }
}

void EncodingBank::make_candidate(int candidate, const Tick& tick) {
  const Candidate& c = candidates_[static_cast<std::size_t>(candidate)];
  for (const auto& q : activations_) {
    set_estimator(*q, c);
    set_width(*q, c.activation);
  }
  set_weights(c);
  simulation_.apply_exception_rules();
  compute_activations(tick);
  compute_parameters();
  simulate::adjust_weight_scales(simulation_.engine().network());
  for (auto& [quantizer, entries] : entries_) {
    entries[static_cast<std::size_t>(candidate)] = entry_of(*quantizer, entries);
  }
}

void EncodingBank::compute_activations(const Tick& tick) {
  if (ranges_.load(activations_)) return;
  const auto lacks_range = [](const std::shared_ptr<Quantizer>& q) {
    return q->enabled() && !q->initialized() && !q->has_statistics();
  };
  // Once for all widths, and again where a rule changed a format in a way that drops what was
  // observed.
  if (!calibrated_ || std::any_of(activations_.begin(), activations_.end(), lacks_range))
    calibrate(tick);
  calibrated_ = true;
  for (const auto& q : activations_) {
    if (q->enabled() && !q->initialized()) q->compute_encoding();
  }
  ranges_.keep(activations_);
}

void EncodingBank::observe_shapes() {
  Feed feed;
  samples_.rewind();
  simulate::Shapes& shapes = simulation_.engine().shapes();
  if (!shapes.find() && samples_.next(&feed)) shapes.observe(feed);
}

void EncodingBank::restore_group(std::size_t group, int candidate) {
  for (const auto* names : {&groups_[group].activations, &groups_[group].parameters}) {
    for (const std::string& name : *names) {
      const std::shared_ptr<Quantizer> q = simulation_.quantizer(name);
      q->restore(*entries_.at(q.get())[static_cast<std::size_t>(candidate)].snapshot);
    }
  }
}

void EncodingBank::set_all(int candidate) {
  for (std::size_t g = 0; g < groups_.size(); ++g) restore_group(g, candidate);
}

void EncodingBank::set(const std::vector<int>& by_group) {
  for (std::size_t g = 0; g < groups_.size(); ++g) restore_group(g, by_group[g]);
  simulation_.apply_exception_rules();
  complete();
}

void EncodingBank::complete() {
  bool is_missing = false;
  for (const auto& list : {activations_, parameters_}) {
    for (const auto& q : list) {
      if (!q->enabled() || q->initialized()) continue;
      const std::vector<Entry>& entries = entries_.at(q.get());
      const auto known = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) {
        return e.settings == settings_of(*q);
      });
      if (known != entries.end()) {
        q->restore(*known->snapshot);
      } else {
        is_missing = true;
      }
    }
  }
  if (!is_missing) return;
  calibrate([](const char*, std::int64_t, std::int64_t) {});
  compute_parameters();
  simulate::adjust_weight_scales(simulation_.engine().network());
}

}  // namespace bitsweep::allocate
