#include "base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace bitsweep {

void parallel_for(std::size_t count, int num_threads,
                  const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto loop = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (failure == nullptr) failure = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> workers;
    const std::size_t wanted = std::min(static_cast<std::size_t>(std::max(1, num_threads)), count);
    for (std::size_t t = 1; t < wanted; ++t) workers.emplace_back(loop);
    loop();
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace bitsweep
