#include "simulate/engine.h"

#include <utility>

#include "simulate/observe/observation.h"
#include "simulate/reuse/exact_plan.h"
#include "simulate/whole_runs.h"

namespace bitsweep::simulate {

Engine::Engine(Model model, SimulationOptions options)
    : network_(std::make_unique<Network>(std::move(model), std::move(options))),
      shapes_(std::make_unique<Shapes>(*network_)),
      work_(std::make_unique<WorkCounter>()),
      sessions_(std::make_unique<PartSessions>(*network_)),
      whole_runs_(std::make_unique<WholeRuns>(*network_, *shapes_, *sessions_, *work_)),
      observation_(std::make_unique<Observation>(*network_, *sessions_)),
      evaluator_(std::make_unique<Evaluator>(*network_, *shapes_, *sessions_, *work_)),
      planner_(std::make_unique<ExactPlanner>(*network_, *shapes_, *evaluator_, *work_)) {}

Engine::~Engine() = default;

}  // namespace bitsweep::simulate
