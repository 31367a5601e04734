#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bitsweep/quantizer.h"
#include "quant/fake_quant_plan.h"
#include "simulate/runtime/observer_order.h"

namespace bitsweep::simulate {

class DivisorWatch;

/// What one quantizer node does in one run.
struct SiteAction {
  enum class Mode : std::uint8_t { kOff, kQuantize, kObserve };
  Mode mode = Mode::kOff;
  std::shared_ptr<const FakeQuantPlan> plan;  ///< for kQuantize
  Quantizer* observer = nullptr;              ///< for kObserve
  /// A weight of the model file, read here and nowhere else in the run: it may leave the memory.
  bool input_is_stored = false;
};

/// The state of one run, an input of the simulated pieces: one session serves any number of threads
/// and states.
struct RunState {
  std::vector<SiteAction> sites;  ///< by site index
  /// For runs that observe: whose turn it is, and which sample this run is. Without an order such
  /// runs must not overlap.
  ObserverOrder* order = nullptr;
  DivisorWatch* divisors = nullptr;  ///< for runs that observe
  std::int64_t sample = 0;
};

}  // namespace bitsweep::simulate
