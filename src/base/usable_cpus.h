#pragma once

namespace bitsweep {

/// CPUs that this process may run on: those of its affinity mask, which a container or `taskset`
/// may have made smaller than the machine. At least 1.
int usable_cpus();

}  // namespace bitsweep
