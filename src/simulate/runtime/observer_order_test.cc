#include "simulate/runtime/observer_order.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "bitsweep/error.h"

namespace bitsweep::simulate {
namespace {

using Turn = ObserverOrder::Turn;

class ObserverOrderTest : public testing::Test {
 protected:
  Quantizer first_{"first"};
  Quantizer tied_{"tied"};
  ObserverOrder order_{{{&first_, 1}, {&tied_, 2}}};
};

TEST_F(ObserverOrderTest, ALaterSampleWaitsForTheEarlierOne) {
  std::vector<int> seen;
  std::jthread later([&] {
    const Turn turn(order_, first_, 1);
    seen.push_back(1);
  });
  {
    const Turn turn(order_, first_, 0);
    seen.push_back(0);
  }
  later.join();
  EXPECT_EQ(seen, (std::vector<int>{0, 1}));
}

TEST_F(ObserverOrderTest, ATiedQuantizerIsDoneAfterAllItsSites) {
  std::vector<int> seen;
  std::jthread later([&] {
    const Turn turn(order_, tied_, 1);
    seen.push_back(1);
  });
  for (int site = 0; site < 2; ++site) {
    const Turn turn(order_, tied_, 0);
    seen.push_back(0);
  }
  later.join();
  EXPECT_EQ(seen, (std::vector<int>{0, 0, 1}));
}

TEST_F(ObserverOrderTest, AQuantizerThatARunDidNotReachHoldsNobodyUp) {
  order_.finish(1);  // before sample 0: it must not lose its turn
  {
    const Turn turn(order_, first_, 0);
  }
  order_.finish(0);
  const Turn turn(order_, tied_, 2);
  const Turn other(order_, first_, 2);
}

TEST_F(ObserverOrderTest, AFailureEndsTheWaiting) {
  std::jthread failing([&] { order_.fail(); });
  EXPECT_THROW(Turn(order_, first_, 5), Error);
}

}  // namespace
}  // namespace bitsweep::simulate
