#include "base/parallel_for.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace bitsweep {
namespace {

TEST(ParallelFor, CallsEachIndexOnce) {
  for (const int num_threads : {1, 3, 200}) {
    std::vector<int> calls(100, 0);
    parallel_for(calls.size(), num_threads, [&](std::size_t i) { ++calls[i]; });
    EXPECT_EQ(calls, std::vector<int>(100, 1)) << num_threads;
  }
}

TEST(ParallelFor, RethrowsAndBeginsNothingMore) {
  std::vector<std::size_t> begun;
  EXPECT_THROW(parallel_for(100, 1,
                            [&](std::size_t i) {
                              begun.push_back(i);
                              if (i == 2) throw std::runtime_error("stop");
                            }),
               std::runtime_error);
  EXPECT_EQ(begun, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_THROW(parallel_for(100, 2, [](std::size_t) { throw std::runtime_error("stop"); }),
               std::runtime_error);
}

}  // namespace
}  // namespace bitsweep
