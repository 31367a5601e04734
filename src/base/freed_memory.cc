#include "base/freed_memory.h"

#include <algorithm>
#include <atomic>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace bitsweep {

void give_back_freed_memory(std::size_t bytes, std::size_t may_stay) {
#ifdef __GLIBC__
  constexpr std::size_t kWorthIt = std::size_t{4} << 20;
  static std::atomic<std::size_t> freed{0};
  if (freed.fetch_add(bytes) + bytes < std::max(may_stay, kWorthIt)) return;
  freed = 0;
  malloc_trim(0);
#else
  static_cast<void>(bytes);
  static_cast<void>(may_stay);
#endif
}

}  // namespace bitsweep
