#pragma once

#include <vector>

#include "allocate/mix/mix_task.h"

namespace bitsweep::allocate {

/// Quality against the task's cost, cheapest first, every point run for real.
///
/// A few configurations say first how much of the interactions holds in whole networks. A dearer
/// point stays when better is expected of it: the measured quality alone would drop points for
/// chance of few samples.
std::vector<WholeRun> make_curve(MixTask& task, const Tick& tick);

}  // namespace bitsweep::allocate
