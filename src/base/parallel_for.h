#pragma once

#include <cstddef>
#include <functional>

namespace bitsweep {

/// Calls `work(i)` once for each i below `count`, on up to `num_threads` threads of which the
/// caller's is one; indices are handed out in order. After an exception no further index begins,
/// and the first one is rethrown when all threads have ended.
void parallel_for(std::size_t count, int num_threads, const std::function<void(std::size_t)>& work);

}  // namespace bitsweep
