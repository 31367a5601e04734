#include "base/usable_cpus.h"

#include <algorithm>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace bitsweep {

int usable_cpus() {
#ifdef __linux__
  // hardware_concurrency() counts the CPUs of the machine.
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) return std::max(1, CPU_COUNT(&usable));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace bitsweep
