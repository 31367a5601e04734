#pragma once

#include <atomic>
#include <cstdint>

namespace bitsweep::simulate {

/// Counts runs, and their cost in units of one float pass. Thread-safe but for reset().
class WorkCounter {
 public:
  void add(double cost, std::int64_t runs = 1) {
    num_runs_.fetch_add(runs);
    double before = cost_.load();
    while (!cost_.compare_exchange_weak(before, before + cost)) {
    }
  }
  void reset() {
    num_runs_ = 0;
    cost_ = 0.0;
  }

  std::int64_t num_runs() const { return num_runs_.load(); }
  double forward_equivalents() const { return cost_.load(); }

 private:
  std::atomic<std::int64_t> num_runs_{0};
  std::atomic<double> cost_{0.0};
};

}  // namespace bitsweep::simulate
