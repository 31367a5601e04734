#include "simulate/reuse.h"

#include <unistd.h>

#include <cstring>
#include <utility>

#include "bitsweep/sequence.h"
#include "simulate/reuse/exact_plan.h"

namespace bitsweep::simulate {
namespace {

// FNV-1a over 8-byte words: only a first sieve, equality is checked on the bytes.
std::uint64_t content_hash(const Feed& feed) {
  std::uint64_t hash = 14695981039346656037ULL;
  const auto mix = [&](std::uint64_t word) { hash = (hash ^ word) * 1099511628211ULL; };
  for (const auto& [name, tensor] : feed) {
    for (const std::int64_t d : tensor.shape()) mix(static_cast<std::uint64_t>(d));
    const auto* bytes = static_cast<const unsigned char*>(tensor.data());
    std::size_t i = 0;
    for (; i + 8 <= tensor.size_bytes(); i += 8) {
      std::uint64_t word;
      std::memcpy(&word, bytes + i, sizeof(word));
      mix(word);
    }
    for (; i < tensor.size_bytes(); ++i) mix(bytes[i]);
  }
  return hash;
}

bool same_content(const Feed& a, const Feed& b) {
  if (a.size() != b.size()) return false;
  for (auto x = a.begin(), y = b.begin(); x != a.end(); ++x, ++y) {
    if (x->first != y->first || !x->second.equal_bits(y->second)) return false;
  }
  return true;
}

Feed copy_of(const Feed& feed) {
  Feed copy;
  for (const auto& [name, tensor] : feed) copy.emplace(name, deep_copy(tensor));
  return copy;
}

// Samples of a user's metric are few and all kept; the plan spreads session costs over this many.
constexpr std::int64_t kExpectedSamples = 16;

}  // namespace

std::int64_t default_memory_bytes() {
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE) / 2;
}

Reuse::Reuse(Engine& engine, std::vector<State> states, std::int64_t max_memory_bytes)
    : engine_(engine), states_(std::move(states)) {
  const std::int64_t memory = max_memory_bytes > 0 ? max_memory_bytes : default_memory_bytes();
  sample_memory_ = memory / 2;
  session_memory_ = memory - sample_memory_;
}

Reuse::~Reuse() { engine_.evaluator().clear_plan(); }

Sample& Reuse::sample_of(const Feed& feed) {
  const std::uint64_t hash = content_hash(feed);
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    if (it->hash == hash && same_content(it->feed, feed)) {
      kept_.splice(kept_.begin(), kept_, it);
      return *kept_.front().sample;
    }
  }
  Feed copy = copy_of(feed);
  std::shared_ptr<Sample> sample = engine_.evaluator().open_sample(copy);
  const std::int64_t bytes = sample->size_bytes();
  while (!kept_.empty() && kept_bytes_ + bytes > sample_memory_) {
    kept_bytes_ -= kept_.back().bytes;
    kept_.pop_back();
  }
  kept_bytes_ += bytes;
  kept_.push_front({hash, std::move(copy), std::move(sample), bytes});
  return *kept_.front().sample;
}

std::vector<Tensor> Reuse::run(const State& state, const Feed& feed) {
  if (!planned_) {
    engine_.shapes().find_or_observe(feed);
    engine_.sessions().set_memory_limit(static_cast<std::size_t>(session_memory_));
    engine_.planner().set_plan(states_, feed,
                               {.num_samples = kExpectedSamples,
                                .memory_bytes = session_memory_,
                                .threads_per_run = engine_.network().num_threads()},
                               1);
    planned_ = true;
  }
  engine_.network().check_ready(state);
  return engine_.evaluator().evaluate_outputs(state, sample_of(feed));
}

}  // namespace bitsweep::simulate
