#pragma once

namespace bitsweep::sweeping {

/// What states cost: evaluations of a state on a sample, and these in float passes.
struct Work {
  double evaluations = 0.0;
  double passes = 0.0;

  Work& operator+=(const Work& more) {
    evaluations += more.evaluations;
    passes += more.passes;
    return *this;
  }
};

inline Work operator*(double times, const Work& work) {
  return {.evaluations = times * work.evaluations, .passes = times * work.passes};
}

/// What is left of the work that an adaptive sweep may do. Costs are those of a plan, not
/// measured ones: so a sweep that is continued, or one with other threads, decides the same.
class WorkBudget {
 public:
  explicit WorkBudget(const Work& work) : left_(work) {}

  const Work& left() const { return left_; }
  void spend(const Work& work) { left_ += -1.0 * work; }
  bool allows(const Work& work) const {
    return work.evaluations <= left_.evaluations && work.passes <= left_.passes;
  }

 private:
  Work left_;
};

}  // namespace bitsweep::sweeping
