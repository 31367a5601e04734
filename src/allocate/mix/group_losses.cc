#include "allocate/mix/group_losses.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>

#include "bitsweep/error.h"
#include "simulate/cut_plan.h"
#include "simulate/engine.h"
#include "simulate/reuse.h"

namespace bitsweep::allocate {
namespace {

using simulate::State;

// Above this many output elements the changes are folded to this length with random signs, which
// keeps inner products up to 1 / sqrt(length) of the norms.
constexpr std::size_t kSketchLength = 2048;

std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

/// Change of the outputs of one state on one sample.
struct Change {
  double squared = 0.0;
  std::vector<float> values;  // weighted, folded when long
  bool finite = true;
};

Change change_of(const std::vector<Tensor>& outputs, const std::vector<Tensor>& reference,
                 const std::vector<double>& weights) {
  std::size_t length = 0;
  for (const Tensor& t : reference) {
    if (is_quantizable_type(t.type())) length += static_cast<std::size_t>(t.size());
  }
  Change change;
  const bool folded = length > kSketchLength;
  change.values.assign(std::min(length, kSketchLength), 0.0F);
  std::size_t position = 0;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!is_quantizable_type(reference[o].type())) continue;
    const Tensor is = outputs[o].to_float();
    const Tensor was = reference[o].to_float();
    for (std::size_t i = 0; i < was.floats().size(); ++i, ++position) {
      const double d = (static_cast<double>(is.floats()[i]) - was.floats()[i]) * weights[o];
      if (!std::isfinite(d)) {
        change.finite = false;
        return change;
      }
      change.squared += d * d;
      if (!folded) {
        change.values[position] = static_cast<float>(d);
        continue;
      }
      const std::uint64_t hash = mixed(position);
      const double sign = (hash >> 63U) != 0 ? -1.0 : 1.0;
      change.values[hash % kSketchLength] += static_cast<float>(sign * d);
    }
  }
  return change;
}

class Measurement {
 public:
  Measurement(Simulation& simulation, EncodingBank& bank, const std::vector<QuantizerGroup>& groups,
              const std::vector<std::vector<int>>& choices, SampleSource& samples,
              const GroupLossOptions& options, const Tick& tick)
      : engine_(simulation.engine()),
        simulation_(simulation),
        bank_(bank),
        choices_(choices),
        samples_(samples),
        options_(options),
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
      states_.push_back(engine_.sites_of(quantizers));
    }
    offsets_.push_back(0);
    for (const auto& list : choices) offsets_.push_back(offsets_.back() + list.size());
  }

  GroupLosses run() {
    const std::size_t n = offsets_.back();
    squared_.assign(n, 0.0);
    products_.assign(n * n, 0.0);
    finite_.assign(n, 1);
    weigh_outputs();
    plan();
    samples_.rewind();
    Feed feed;
    std::int64_t done = 0;
    while (samples_.next(&feed)) {
      run_sample(feed);
      tick_("measure groups", ++done, samples_.size());
    }
    engine_.set_plan({.threads_per_run = engine_.num_threads()});
    return result();
  }

 private:
  /// Each output counts in units of its own energy over all samples.
  void weigh_outputs() {
    samples_.rewind();
    Feed feed;
    std::vector<double> energy;
    while (samples_.next(&feed)) {
      simulation_.check_feed(feed);
      if (!engine_.shapes_known()) engine_.observe_shapes(feed);
      const std::vector<Tensor> outputs = simulation_.run_float(feed);
      energy.resize(outputs.size(), 0.0);
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        if (!is_quantizable_type(outputs[o].type())) continue;
        for (const float v : outputs[o].to_float().floats())
          energy[o] += static_cast<double>(v) * v;
      }
      ++num_samples_;
    }
    if (num_samples_ == 0) {
      throw Error(ErrorCode::kInvalidData, "mix", "there is no sample to search with",
                  "give at least one");
    }
    for (const double e : energy) {
      if (!std::isfinite(e)) {
        throw Error(ErrorCode::kInvalidData, "mix", "the float model gives NaN or infinite outputs",
                    "check the input preprocessing");
      }
      weights_.push_back(e > 0.0 ? 1.0 / std::sqrt(e) : 0.0);
    }
  }

  void plan() {
    const std::int64_t memory = options_.max_memory_bytes > 0 ? options_.max_memory_bytes
                                                              : simulate::default_memory_bytes();
    engine_.set_memory_limit(static_cast<std::size_t>(memory));
    engine_.set_plan(
        simulate::plan_cuts(engine_, states_, {.num_samples = num_samples_, .memory_bytes = memory})
            .engine);
  }

  void run_sample(const Feed& feed) {
    const std::shared_ptr<simulate::Sample> sample = engine_.open_sample(feed);
    std::vector<Change> changes(offsets_.back());
    int num_candidates = 0;
    for (const auto& list : choices_) {
      for (const int c : list) num_candidates = std::max(num_candidates, c + 1);
    }
    for (int c = 0; c < num_candidates; ++c) {
      // (group, position of the choice in all tables)
      std::vector<std::pair<std::size_t, std::size_t>> work;
      for (std::size_t g = 0; g < choices_.size(); ++g) {
        for (std::size_t i = 0; i < choices_[g].size(); ++i) {
          if (choices_[g][i] == c) work.emplace_back(g, offsets_[g] + i);
        }
      }
      bank_.set_all(c);
      in_parallel(work.size(), [&](std::size_t i) {
        const auto [g, s] = work[i];
        engine_.check_ready(states_[g]);
        const simulate::Evaluation e = engine_.evaluate(states_[g], *sample);
        changes[s] = change_of(e.outputs, *e.reference, weights_);
      });
    }
    add(changes);
  }

  template <typename Work>
  void in_parallel(std::size_t count, const Work& work) {
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t wanted =
        options_.num_threads > 0 ? static_cast<std::size_t>(options_.num_threads) : cores;
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr error;
    const auto loop = [&] {
      for (std::size_t i = next++; i < count; i = next++) {
        try {
          work(i);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!error) error = std::current_exception();
          next = count;
        }
      }
    };
    {
      std::vector<std::jthread> threads;
      for (std::size_t t = 1; t < std::min(wanted, count); ++t) threads.emplace_back(loop);
      loop();
    }
    if (error) std::rethrow_exception(error);
  }

  void add(const std::vector<Change>& changes) {
    const std::size_t n = changes.size();
    for (std::size_t i = 0; i < n; ++i) {
      squared_[i] += changes[i].squared;
      if (!changes[i].finite) finite_[i] = 0;
      for (std::size_t j = 0; j < i; ++j) {
        if (!changes[i].finite || !changes[j].finite) continue;
        double sum = 0.0;
        for (std::size_t k = 0; k < changes[i].values.size(); ++k)
          sum += static_cast<double>(changes[i].values[k]) * changes[j].values[k];
        products_[i * n + j] += sum;
      }
    }
  }

  GroupLosses result() {
    const std::size_t n = offsets_.back();
    GroupLosses losses;
    losses.interactions.assign(n * n, 0.0);
    for (std::size_t g = 0; g < choices_.size(); ++g) {
      std::vector<double>& list = losses.loss.emplace_back();
      for (std::size_t i = 0; i < choices_[g].size(); ++i) {
        list.push_back(squared_[offsets_[g] + i]);
        if (finite_[offsets_[g] + i] == 0)
          losses.not_finite.emplace_back(static_cast<int>(g), static_cast<int>(i));
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        losses.interactions[i * n + j] = losses.interactions[j * n + i] = products_[i * n + j];
      }
    }
    return losses;
  }

  simulate::Engine& engine_;
  Simulation& simulation_;
  EncodingBank& bank_;
  const std::vector<std::vector<int>>& choices_;
  SampleSource& samples_;
  const GroupLossOptions& options_;
  const Tick& tick_;
  std::vector<State> states_;  // by group
  std::vector<std::size_t> offsets_;
  std::int64_t num_samples_ = 0;
  std::vector<double> weights_;  // by output
  std::vector<double> squared_;
  std::vector<double> products_;
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
    simulation.engine().set_plan({.threads_per_run = simulation.engine().num_threads()});
    throw;
  }
}

}  // namespace bitsweep::allocate
