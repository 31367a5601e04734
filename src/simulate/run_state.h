#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bitsweep/quantizer.h"
#include "quant/fake_quant_plan.h"

namespace bitsweep::simulate {

/// What one quantizer node does in one run.
struct SiteAction {
  enum class Mode : std::uint8_t { kOff, kQuantize, kObserve };
  Mode mode = Mode::kOff;
  std::shared_ptr<const FakeQuantPlan> plan;  ///< for kQuantize
  Quantizer* observer = nullptr;              ///< for kObserve; such runs must not overlap
};

/// The state of one run, an input of the simulated pieces: one session serves any number of threads
/// and states.
struct RunState {
  std::vector<SiteAction> sites;  ///< by site index
};

}  // namespace bitsweep::simulate
