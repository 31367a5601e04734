#include "simulate/runtime/session_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "graph/graph.h"
#include "graph/pieces/subgraph.h"
#include "graph/testing/model_builder.h"

namespace bitsweep::simulate {
namespace {

/// Whether two are here at the same time. Each waits a moment for the other one.
class Meeting {
 public:
  void come() {
    std::unique_lock lock(mutex_);
    ++num_here_;
    changed_.notify_all();
    const bool both = changed_.wait_for(lock, kPatience, [&] { return num_here_ == 2 || met_; });
    met_ = met_ || both;
    --num_here_;
  }
  bool met() const { return met_; }

 private:
  static constexpr std::chrono::milliseconds kPatience{500};
  std::mutex mutex_;
  std::condition_variable changed_;
  int num_here_ = 0;
  bool met_ = false;
};

constexpr std::int64_t kSize = 512;
constexpr std::size_t kWeightBytes = sizeof(float) * kSize * kSize;

/// Of a convolution whose weights, once the session has its own, go to the meeting.
SessionRecipe recipe_of(Meeting& meeting) {
  graph::testing::ModelBuilder m;
  m.input("x", {1, kSize, 2, 2}).random("w", {kSize, kSize, 1, 1}).node("y = Conv(x, w)");
  graph::Graph graph(m.output("y", DataType::kFloat).model());
  SessionRecipe recipe{
      .piece = graph::build_subgraph(
          graph, {.nodes = {0}, .inputs = graph.inputs(), .outputs = graph.outputs()})};
  Tensor& weight = recipe.piece.initializers.front().value;
  weight =
      Tensor::borrow(weight.type(), weight.shape(), weight.data(),
                     std::shared_ptr<const Tensor>(new Tensor(weight), [&](const Tensor* owner) {
                       meeting.come();
                       delete owner;
                     }));
  return recipe;
}

bool made_side_by_side(std::size_t capacity) {
  Meeting meeting;
  SessionCache cache;
  cache.set_capacity(capacity);
  {
    const std::jthread one([&] { cache.get("one", [&] { return recipe_of(meeting); }); });
    const std::jthread other([&] { cache.get("other", [&] { return recipe_of(meeting); }); });
  }
  return meeting.met();
}

// While a session is made, the runtime holds its weights about twice.
TEST(SessionCache, MakesSessionsSideBySideAsFarAsTheCapacityGoes) {
  EXPECT_TRUE(made_side_by_side(8 * kWeightBytes + (std::size_t{8} << 20)));
}

TEST(SessionCache, MakesOneSessionAfterTheOtherWhereBothDoNotFit) {
  EXPECT_FALSE(made_side_by_side(3 * kWeightBytes));
  EXPECT_FALSE(made_side_by_side(0)) << "one that is larger than the capacity is made alone";
}

}  // namespace
}  // namespace bitsweep::simulate
