#pragma once

#include <cstddef>
#include <cstdint>

namespace bitsweep::sweeping {

/// SplitMix64 (Steele et al. 2014): the same numbers on every platform, which std distributions do
/// not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t n) {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return static_cast<std::size_t>((z ^ (z >> 31)) % n);
  }

 private:
  std::uint64_t state_;
};

}  // namespace bitsweep::sweeping
