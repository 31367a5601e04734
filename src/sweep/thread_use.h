#pragma once

#include "bitsweep/sweep.h"
#include "simulate/reuse/evaluator.h"

namespace bitsweep::sweeping {

/// How the threads of a sweep are used: `workers` run states side by side, each with `per_run`
/// threads inside a run.
struct Threads {
  int workers = 1;
  int per_run = 1;
};

/// For ThreadUse::kMeasured passes of the float model over this sample are timed, which sets the
/// evaluator's plan and counts as work. Where threads inside a run change bits of the outputs, they
/// are not chosen.
Threads choose_threads(simulate::Evaluator& evaluator, ThreadUse use, const Feed& sample,
                       int num_threads);

}  // namespace bitsweep::sweeping
