#include "sweep/thread_use.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/parallel_for.h"

namespace bitsweep::sweeping {
namespace {

constexpr int kRounds = 5;
// A whole pass has more work for each operator to share than a part of one.
constexpr double kClearlyFaster = 0.9;

/// Float passes of one sample.
struct Passes {
  double seconds = 0.0;  ///< of the fastest round: other programs only make one slower
  std::vector<Tensor> outputs;
};

Passes time_passes(simulate::Evaluator& evaluator, const Feed& sample, const Threads& threads,
                   std::size_t num_passes) {
  evaluator.set_plan({.threads_per_run = threads.per_run});
  // The first one makes the session.
  Passes passes{.seconds = 0.0, .outputs = evaluator.open_sample(sample)->outputs()};
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    parallel_for(num_passes, threads.workers, [&](std::size_t) { evaluator.open_sample(sample); });
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    passes.seconds = round == 0 ? seconds : std::min(passes.seconds, seconds);
  }
  return passes;
}

}  // namespace

Threads choose_threads(simulate::Evaluator& evaluator, ThreadUse use, const Feed& sample,
                       int num_threads) {
  const Threads states{.workers = num_threads};
  const Threads runs{.per_run = num_threads};
  if (use == ThreadUse::kStates || num_threads == 1) return states;
  if (use == ThreadUse::kRuns) return runs;
  const auto num_passes = static_cast<std::size_t>(num_threads);
  const Passes beside = time_passes(evaluator, sample, states, num_passes);
  const Passes inside = time_passes(evaluator, sample, runs, num_passes);
  const bool same_bits =
      std::equal(beside.outputs.begin(), beside.outputs.end(), inside.outputs.begin(),
                 [](const Tensor& a, const Tensor& b) { return a.equal_bits(b); });
  return same_bits && inside.seconds < kClearlyFaster * beside.seconds ? runs : states;
}

}  // namespace bitsweep::sweeping
