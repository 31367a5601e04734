#include "allocate/mix/least_harm.h"

#include <gtest/gtest.h>

namespace bitsweep::allocate {
namespace {

/// Three groups of two choices, the second cheaper: by 10, 1 and nothing.
BudgetProblem problem() {
  BudgetProblem p;
  p.loss = {{0.0, 2.0}, {0.0, 1.0}, {0.0, 0.5}};
  p.costs.push_back({.name = "bops",
                     .rows = {{.constant = 0.0, .by_choice = {{20, 10}, {5, 4}, {3, 3}}}},
                     .pairs = {}});
  return p;
}

TEST(LeastHarm, TheBestChoicesStayWhereTheyAreWithinTheCost) {
  EXPECT_EQ(least_harm_within(problem(), 0, 28.0), (std::vector<int>{0, 0, 0}));
}

TEST(LeastHarm, WhatLosesLeastAloneIsChangedFirstHoweverLittleItSaves) {
  EXPECT_EQ(least_harm_within(problem(), 0, 27.0), (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(least_harm_within(problem(), 0, 20.0), (std::vector<int>{1, 1, 1}));
}

TEST(LeastHarm, NothingDearerIsTaken) {
  BudgetProblem p = problem();
  p.loss[1].push_back(1.5);
  p.costs[0].rows[0].by_choice[1].push_back(4.5);
  EXPECT_EQ(least_harm_within(p, 0, 20.0), (std::vector<int>{1, 1, 1}));
}

TEST(LeastHarm, ACostBelowAllChoicesHasNoAnswer) {
  EXPECT_TRUE(least_harm_within(problem(), 0, 16.9).empty());
}

}  // namespace
}  // namespace bitsweep::allocate
