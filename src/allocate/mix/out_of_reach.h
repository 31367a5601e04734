#pragma once

#include <string>

#include "allocate/mix/mix_groups.h"
#include "allocate/mix/mix_task.h"

namespace bitsweep::allocate {

/// Why a wanted quality was not reached: the best that was measured, the limits when they are to
/// blame, else the group that alone costs most, with what can be done about it.
std::string why_out_of_reach(MixTask& task, const MixGroups& groups);

}  // namespace bitsweep::allocate
