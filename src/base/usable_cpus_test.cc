#include "base/usable_cpus.h"

#include <gtest/gtest.h>

#ifdef __linux__
#include <sched.h>

#include <thread>

namespace bitsweep {
namespace {

TEST(UsableCpus, CountsTheCpusThatAThreadIsBoundTo) {
  std::thread([] {
    cpu_set_t own;
    ASSERT_EQ(sched_getaffinity(0, sizeof own, &own), 0);
    EXPECT_EQ(usable_cpus(), CPU_COUNT(&own));
    cpu_set_t one;
    CPU_ZERO(&one);
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &own)) CPU_SET(cpu, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_cpus(), 1);
  }).join();
}

}  // namespace
}  // namespace bitsweep
#endif
