#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "simulate/engine.h"
#include "simulate/reuse/evaluator.h"

namespace bitsweep::simulate {

/// Runs states for a caller that brings the same samples again and again: each sample's float pass
/// is kept, recognised by content, and reused. Least recently used samples go when memory runs out.
class Reuse {
 public:
  Reuse(Engine& engine, std::vector<State> states, std::int64_t max_memory_bytes);
  ~Reuse();
  Reuse(const Reuse&) = delete;
  Reuse& operator=(const Reuse&) = delete;

  std::vector<Tensor> run(const State& state, const Feed& feed);

 private:
  struct Kept {
    std::uint64_t hash;
    Feed feed;  // a copy: the caller may change its arrays in place
    std::shared_ptr<Sample> sample;
    std::int64_t bytes;
  };
  Sample& sample_of(const Feed& feed);

  Engine& engine_;
  std::vector<State> states_;
  std::int64_t sample_memory_;
  std::int64_t session_memory_;
  bool planned_ = false;
  std::int64_t kept_bytes_ = 0;
  std::list<Kept> kept_;  // front: used last
};

/// Half of the machine's memory, in bytes.
std::int64_t default_memory_bytes();

}  // namespace bitsweep::simulate
