#include "simulate/reuse/exact_plan.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "simulate/engine.h"
#include "simulate/testing/nets.h"

namespace bitsweep::simulate {
namespace {

using testing::more_nets;
using testing::nets;
using testing::residual_net;
using testing::samples;

TEST(ExactPlanner, AnExactPlanCutsOnlyWhereTheFloatPassIsRepeated) {
  auto all = nets();
  for (auto& named : more_nets()) all.push_back(std::move(named));
  for (const auto& [name, model] : all) {
    Engine engine(model, {});
    Network& network = engine.network();
    Evaluator& evaluator = engine.evaluator();
    ExactPlanner& planner = engine.planner();
    const Feed feed = samples(model, 1)[0];
    engine.shapes().observe(feed);
    std::vector<State> states;
    for (int s = 0; s < network.num_sites(); ++s) states.push_back({s});
    const CutPlan plan = planner.set_plan(states, feed, {.num_samples = 100}, 2);
    EXPECT_FALSE(plan.evaluation.cuts.empty()) << name;
    const std::shared_ptr<Sample> sample = evaluator.open_sample(feed);
    for (int i = 0; i < evaluator.split().num_suffixes(); ++i)
      EXPECT_TRUE(evaluator.repeats_float_pass(*sample, i)) << name;
  }
}

TEST(ExactPlanner, APlanIsFoundOnceForTheSameStatesAndSample) {
  const Model model = residual_net(16);
  Engine engine(model, {});
  Network& network = engine.network();
  Evaluator& evaluator = engine.evaluator();
  ExactPlanner& planner = engine.planner();
  WorkCounter& work = engine.work();
  std::vector<Feed> feeds = samples(model, 2);
  engine.shapes().observe(feeds[0]);
  std::vector<State> states;
  for (int s = 0; s < network.num_sites(); ++s) states.push_back({s});
  work.reset();
  const CutPlan first = planner.set_plan(states, feeds[0], {}, 2);
  const std::int64_t num_runs = work.num_runs();
  const auto found = planner.found();
  EXPECT_GT(num_runs, 0);
  work.reset();
  const CutPlan second = planner.set_plan(states, feeds[0], {}, 2);
  EXPECT_EQ(planner.found(), found);
  EXPECT_EQ(second.evaluation.cuts, first.evaluation.cuts);
  EXPECT_EQ(work.num_runs(), num_runs);  // as if it had been found now
  // Nothing is left to be looked at.
  const std::shared_ptr<Sample> sample = evaluator.open_sample(feeds[0]);
  work.reset();
  for (int i = 0; i < evaluator.split().num_suffixes(); ++i)
    evaluator.prepare_reference(*sample, i);
  EXPECT_EQ(work.num_runs(), 0);
  planner.set_plan(states, feeds[1], {}, 2);
  EXPECT_NE(planner.found(), found);
  const auto of_the_other_sample = planner.found();
  states.pop_back();
  planner.set_plan(states, feeds[1], {}, 2);
  EXPECT_NE(planner.found(), of_the_other_sample);
}

}  // namespace
}  // namespace bitsweep::simulate
